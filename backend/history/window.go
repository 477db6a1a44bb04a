package history

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"
)

// partitions groups a history by key and pool, each in the order of the calls.
func partitions(h []Operation) map[partition][]Operation {
	groups := map[partition][]Operation{}
	for i := range h {
		p := h[i].partition()
		groups[p] = append(groups[p], h[i])
	}
	for _, group := range groups {
		slices.SortStableFunc(group, func(a, b Operation) int { return cmp.Compare(a.Call, b.Call) })
	}
	return groups
}

// windows cuts a partition after each Cut, whose answer tells the state that the next
// window begins with. The search for an order takes time that grows fast with the
// calls of unknown outcome, and a window has few.
func windows(group []Operation) ([][]Operation, error) {
	var all [][]Operation
	first := 0
	for i := range group {
		if !group[i].Cut {
			continue
		}
		if err := quiet(group, i); err != nil {
			return nil, err
		}
		all = append(all, group[first:i+1])
		first = i + 1
	}
	if first < len(group) {
		all = append(all, group[first:])
	}
	return all, nil
}

// quiet checks that a cut is one: a fault of the recorder, not of the store.
func quiet(group []Operation, cut int) error {
	for i := range group {
		if i < cut && group[i].Return > group[cut].Call || i > cut && group[i].Call < group[cut].Return {
			return fmt.Errorf("not recorded well: %v\noverlaps the cut %v", &group[i], &group[cut])
		}
	}
	return nil
}

// modelOf gives the model of a window that begins after cut, or at the beginning if
// cut is nil, and its steps.
func modelOf(window []Operation, cut *Operation, r Rules) (porcupine.Model, []porcupine.Operation, error) {
	if !window[0].Kind.ofLock() {
		first := poolState{}
		if cut != nil {
			first = poolState{exists: true, remaining: cut.Remaining}
		}
		steps, err := poolSteps(window)
		return poolModel(first), steps, err
	}
	first := lockState{}
	if cut != nil {
		first = lockState{greatest: cut.Token, lo: cut.Call}
	}
	return lockModel{r.Epsilon}.porcupine(first), lockSteps(window), nil
}

func porcupineOperation(o *Operation, input any) porcupine.Operation {
	return porcupine.Operation{ClientId: o.Client, Input: input, Call: int64(o.Call), Return: int64(o.Return)}
}
