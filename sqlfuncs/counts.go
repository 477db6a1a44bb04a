package sqlfuncs

import "sync/atomic"

// Outcome is what a call came to.
type Outcome int

// The outcomes of calls.
const (
	done    Outcome = iota // it did what it is for, or read what is there
	refused                // its answer is false: the lock is held, the pool is sold out, the token is another
	failed                 // with an error
	outcomes
)

// String is the outcome as it is shown.
func (o Outcome) String() string { return [outcomes]string{"done", "refused", "failed"}[o] }

// outcomeOf is what a call came to that returned this row; nil: it is a Set's.
func outcomeOf(f *Function, row *Row, err error) Outcome {
	switch {
	case err != nil:
		return failed
	case row != nil && !f.Reads() && f.answers() && !row[0].Bool():
		return refused
	}
	return done
}

// counts are what calls came to. All is safe for concurrent use.
type counts struct {
	calls   [maxFunctions][outcomes]atomic.Int64 // by index
	waiting atomic.Int64
}

// maxFunctions is the room for what is counted for each function.
const maxFunctions = 32

func (c *counts) note(f *Function, o Outcome) { c.calls[f.index][o].Add(1) }

// Counts is what the calls of a Service came to since it was made.
type Counts struct {
	Calls []CallCount
	// Waiting is how many calls are under way that may wait in line.
	Waiting int64
	// Leases and Waiters are how many leases the store knows of, and calls in line for one, in all
	// scopes. Known says whether the store counts them.
	Leases, Waiters int64
	Known           bool
}

// CallCount is how many calls of a function had an outcome.
type CallCount struct {
	Function string
	Outcome  Outcome
	Calls    int64
}

// Counts reads the counts, each at some moment of the call.
func (s *Service) Counts() Counts {
	told := Counts{Waiting: s.counts.waiting.Load()}
	for _, f := range Functions {
		for o := range outcomes {
			told.Calls = append(told.Calls, CallCount{f.Name, o, s.counts.calls[f.index][o].Load()})
		}
	}
	if b, ok := s.backend.(interface {
		Held() (leases, waiters int64)
	}); ok {
		told.Leases, told.Waiters = b.Held()
		told.Known = true
	}
	return told
}
