package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	goredis "github.com/redis/go-redis/v9"
)

// Who reads all keys of a Cluster has to know that no slot is on its way meanwhile: its keys would be seen twice, or
// not at all.

var errSlotsMoved = errors.New("slots of the Cluster have moved meanwhile: run this again when they stay where they are")

// masters are the servers with data, by address. It fails if one of them does not answer.
func (s *servers) masters(ctx context.Context) (map[string]*goredis.Client, error) {
	found := make(chan *goredis.Client)
	failed := make(chan error, 1)
	go func() {
		defer close(found)
		failed <- s.each(ctx, func(ctx context.Context, node *goredis.Client) error {
			if _, err := lookAt(ctx, node); err != nil {
				return fmt.Errorf("%s: %w", node.Options().Addr, err)
			}
			found <- node
			return nil
		})
	}()
	masters := make(map[string]*goredis.Client)
	for node := range found {
		masters[node.Options().Addr] = node
	}
	return masters, <-failed
}

// layout is the masters, and which of them has which slots; "" without a Cluster. It fails while slots move, and if
// not each slot has a master among those that are known here.
func (s *servers) layout(ctx context.Context) (masters map[string]*goredis.Client, slots string, err error) {
	if masters, err = s.masters(ctx); err != nil || s.cluster == nil {
		return masters, "", err
	}
	var lines []string
	var owned slotSet
	for addr, node := range masters {
		text, err := node.ClusterNodes(ctx).Result()
		if err != nil {
			return nil, "", err
		}
		for line := range strings.Lines(text) {
			words := strings.Fields(line)
			if len(words) < 8 || !strings.Contains(words[2], "myself") {
				continue
			}
			if !owned.add(words[8:]) {
				return nil, "", fmt.Errorf("slots of the Cluster are moving at %s: run this again when they stay where they are", addr)
			}
			lines = append(lines, words[0]+" "+strings.Join(words[8:], " "))
		}
	}
	if owned.count != len(owned.has) {
		return nil, "", fmt.Errorf("%d slots of the Cluster have a master, of %d", owned.count, len(owned.has))
	}
	slices.Sort(lines)
	return masters, strings.Join(lines, "\n"), nil
}

// slotSet are slots that have a master.
type slotSet struct {
	has   [16384]bool
	count int
}

// add adds the ranges of one master, as CLUSTER NODES writes them. It is false if there is another one, [slot->-node] say of
// a slot that is on its way, or if another master has one of them.
func (s *slotSet) add(ranges []string) bool {
	for _, text := range ranges {
		low, high, ok := strings.Cut(text, "-")
		if !ok {
			high = low
		}
		first, err := strconv.Atoi(low)
		last, err2 := strconv.Atoi(high)
		if err != nil || err2 != nil || first < 0 || last >= len(s.has) {
			return false
		}
		for slot := first; slot <= last; slot++ {
			if s.has[slot] {
				return false
			}
			s.has[slot] = true
			s.count++
		}
	}
	return true
}
