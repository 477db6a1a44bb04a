package history

import (
	"fmt"
	"strings"
)

// Census counts what a history saw. A history in which nothing happened is legal and
// proves nothing.
type Census struct {
	Calls     int
	Unknown   int // outcomes that nobody was told
	Undone    int
	Contended int // acquires that were refused
	Grants    int
	HandedOn  int // grants to calls that stood in line as the holder before released
	InVain    int // calls that waited in line to the end of their time
	Expired   int // leases that ended by time: granted anew, or refused to their holder, without a release
	Claims    int // that succeeded
	SoldOut   int // claims that were refused
	Restocks  int
	Lost      int            // calls that were refused since acknowledged state was lost
	Codes     map[string]int // errors, by SQLSTATE
}

// Wants are what a history has to have seen besides what every one has to.
type Wants struct {
	Unknown bool   // outcomes that nobody was told
	Loss    bool   // calls refused because of a loss
	Code    string // an SQLSTATE that somebody was told
}

// Count makes the census of a history.
func Count(h []Operation) Census {
	c := Census{Codes: map[string]int{}}
	for _, group := range partitions(h) {
		c.Expired += expired(group)
		c.HandedOn += handedOn(group)
		for i := range group {
			c.count(&group[i])
		}
	}
	return c
}

func (c *Census) count(o *Operation) {
	if o.Cut || o.Kind == Loss { // the recorder's own
		return
	}
	c.Calls++
	if o.Code != "" {
		c.Codes[o.Code]++
	}
	if o.Lost {
		c.Lost++
	}
	switch {
	case o.Outcome == Unknown:
		c.Unknown++
	case o.Outcome == Undone:
		c.Undone++
	case o.Kind == Acquire && o.OK:
		c.Grants++
	case o.Kind == Acquire && o.Wait > 0:
		c.InVain++
	case o.Kind == Acquire:
		c.Contended++
	case o.Kind == Claim && o.OK:
		c.Claims++
	case o.Kind == Claim:
		c.SoldOut++
	case o.Kind == Restock:
		c.Restocks++
	}
}

// handedOn counts the calls in line that were granted a lock which its holder released meanwhile.
func handedOn(group []Operation) int {
	n := 0
	for _, g := range grantsOf(group) {
		if g.Wait == 0 {
			continue
		}
		for i := range group {
			o := &group[i]
			if o.Kind == Release && o.OK && o.Token < g.Token && g.Call < o.Call && o.Call < g.Return {
				n++
				break
			}
		}
	}
	return n
}

// expired counts the leases after which another was granted although nobody released
// them.
func expired(group []Operation) int {
	released := map[int64]bool{}
	for i := range group {
		if o := &group[i]; o.Kind == Release && (o.OK || o.Outcome == Unknown) {
			released[o.Token] = true
		}
	}
	n := 0
	grants := grantsOf(group)
	for _, g := range grants[:max(0, len(grants)-1)] {
		if !released[g.Token] {
			n++
		}
	}
	return n
}

// Vacuous says what a history did not see that it had to, or nothing.
func (c *Census) Vacuous(w Wants) string {
	var missing []string
	for _, want := range []struct {
		wanted bool
		n      int
		what   string
	}{
		{w.Unknown, c.Unknown, "outcome that nobody was told"},
		{w.Loss, c.Lost, "call refused because of a loss"},
		{w.Code != "", c.Codes[w.Code], "error " + w.Code},
		{true, c.Contended, "refused acquire"},
		{true, c.HandedOn, "lock handed on to a call in line"},
		{true, c.InVain, "wait in vain"},
		{true, c.Expired, "lease that ended by time"},
		{true, c.Claims, "claim"},
		{true, c.SoldOut, "sold-out pool"},
		{true, c.Restocks, "restock"},
	} {
		if want.wanted && want.n == 0 {
			missing = append(missing, "no "+want.what)
		}
	}
	return strings.Join(missing, ", ")
}

func (c *Census) String() string {
	return fmt.Sprintf("%d calls: %d grants, %d of them handed on, %d refused, %d waits in vain, %d leases ended by time; %d claims, %d sold out, %d restocks; %d unknown, %d undone, %d of them for a loss",
		c.Calls, c.Grants, c.HandedOn, c.Contended, c.InVain, c.Expired, c.Claims, c.SoldOut, c.Restocks, c.Unknown, c.Undone, c.Lost)
}
