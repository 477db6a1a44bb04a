package history

import (
	"fmt"
	"strings"
	"time"

	"raisinproxy/backend"
)

// Kind is what was called.
type Kind uint8

// The calls, and Loss, which is no call: between Call and Return the store lost
// acknowledged leases, of at most TTL, for a reason that its promises except.
const (
	Acquire Kind = iota + 1
	Renew
	Release
	Claim
	Restock
	Loss
)

func (k Kind) String() string {
	return [...]string{"?", "acquire", "renew", "release", "claim", "restock", "loss"}[k]
}

// ofLock tells the two families apart.
func (k Kind) ofLock() bool { return k != Claim && k != Restock }

// Outcome is how much the caller knows.
type Outcome uint8

const (
	// Answered calls have an answer.
	Answered Outcome = iota
	// Undone calls failed with an error that says that nothing changed: at Return
	// there is no trace of them. In between others may have seen one.
	Undone
	// Unknown calls may have been applied at any time until Return, or never. A
	// grant that nobody was told of may also have been taken back at any time.
	Unknown
)

// Operation is one call with its answer. Times count from the start of the history on
// the recorder's monotonic clock.
type Operation struct {
	Client int
	Kind   Kind
	Scope  backend.Scope
	Name   string // key or pool

	TTL      time.Duration // Acquire, Renew
	Wait     time.Duration // Acquire: how long it may wait in line
	Token    int64         // the argument of Renew and Release, the answer of Acquire
	Units    int64         // Claim, Restock
	Capacity int64         // Claim

	Outcome   Outcome
	OK        bool  // acquired, renewed, released, claimed; true for Restock
	Remaining int64 // Claim, Restock
	ExpiresMS int64 // Acquire: when the lease ends by the store's own clock, Unix ms

	// Call is taken before the request is sent. Return is taken after the answer has
	// come; for an Unknown call it is when it can no longer take effect.
	Call, Return time.Duration

	// Cut says that nothing else was under way on this partition, and that the
	// answer tells its whole state: a refused Claim, or the Release of a grant.
	Cut bool
	// Lost says that the call was refused since the store has lost acknowledged state.
	Lost bool
	// Code is the SQLSTATE of the error.
	Code string
	// Note is for the reader: what the error said.
	Note string
}

// partition is what operations must share to have to do with one another.
type partition struct {
	scope backend.Scope
	lock  bool
	name  string
}

func (o *Operation) partition() partition {
	return partition{o.Scope, o.Kind.ofLock(), o.Name}
}

func (p partition) String() string {
	kind := "pool"
	if p.lock {
		kind = "lock"
	}
	return fmt.Sprintf("%s %q in %s/%s/%s", kind, p.name, p.scope.Tenant, p.scope.Repository, p.scope.Branch)
}

// String is one line for people: times in milliseconds, the call, its answer.
func (o *Operation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%12.3f … %12.3f  client %-3d %s", ms(o.Call), ms(o.Return), o.Client, o.describe())
	if o.Cut {
		b.WriteString("  [cut]")
	}
	if o.Note != "" {
		b.WriteString("  " + o.Note)
	}
	return b.String()
}

func (o *Operation) describe() string { return o.call() + " -> " + o.answer() }

func (o *Operation) call() string {
	switch o.Kind {
	case Acquire:
		return fmt.Sprintf("acquire(%v, %v)", o.TTL, o.Wait)
	case Renew:
		return fmt.Sprintf("renew(%d, %v)", o.Token, o.TTL)
	case Release:
		return fmt.Sprintf("release(%d)", o.Token)
	case Claim:
		return fmt.Sprintf("claim(%d of %d)", o.Units, o.Capacity)
	case Restock:
		return fmt.Sprintf("restock(%d)", o.Units)
	}
	return o.Kind.String()
}

func (o *Operation) answer() string {
	switch {
	case o.Outcome == Undone:
		return "nothing changed"
	case o.Outcome == Unknown:
		return "unknown"
	case o.Kind == Acquire && o.OK:
		return fmt.Sprintf("true, token %d until %d", o.Token, o.ExpiresMS)
	case o.Kind == Claim:
		return fmt.Sprintf("%v, %d remain", o.OK, o.Remaining)
	case o.Kind == Restock:
		return fmt.Sprintf("%d remain", o.Remaining)
	}
	return fmt.Sprint(o.OK)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
