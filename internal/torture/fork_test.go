package torture

import (
	"testing"
	"time"

	"raisinproxy/backend/history"
)

// Two masters may have a holder each; one of them may not have two, nor both one token.
func TestAForkIsJudgedByMaster(t *testing.T) {
	const alone, other = 0, 2
	acquired := func(client int, ms int64, token int64) history.Operation {
		at := time.Duration(ms) * time.Millisecond
		return history.Operation{
			Client: client, Kind: history.Acquire, Scope: scope, Name: "k", TTL: time.Second, OK: true, Token: token,
			ExpiresMS: (at + time.Second).Milliseconds(), Call: at, Return: at + time.Millisecond,
		}
	}
	f := &fork{begin: 100 * time.Millisecond, end: 500 * time.Millisecond, alone: func(client int) bool { return client == alone }}
	for _, c := range []struct {
		name  string
		h     []history.Operation
		wrong bool
	}{
		{"a holder each", []history.Operation{acquired(alone, 200, 5), acquired(other, 210, 6)}, false},
		{"two of one master", []history.Operation{acquired(alone, 200, 5), acquired(alone, 210, 6)}, true},
		{"two of the other", []history.Operation{acquired(other, 200, 5), acquired(other, 210, 6)}, true},
		{"one token twice", []history.Operation{acquired(alone, 200, 5), acquired(other, 210, 5)}, true},
		{"held since before, isolated", []history.Operation{acquired(other, 50, 5), acquired(alone, 210, 6)}, true},
		{"held since before, the other", []history.Operation{acquired(alone, 50, 5), acquired(other, 210, 6)}, true},
		{"asked for just before", []history.Operation{acquired(other, 99, 5), acquired(alone, 210, 6)}, false},
		{"after the fork", []history.Operation{acquired(other, 400, 5), acquired(alone, 600, 6)}, true},
	} {
		c.h[0].Return = max(c.h[0].Return, c.h[0].Call+2*time.Millisecond)
		if found := f.check(c.h, history.Rules{Epsilon: time.Millisecond}); len(found) > 0 != c.wrong {
			t.Errorf("%s: found %v", c.name, found)
		}
	}
}

// What was under way when state was lost, and is told to be nothing, may have been seen.
func TestWhatWasUnderWayAtALoss(t *testing.T) {
	r := newRecorder()
	r.losses = []span{{10, 20}}
	h := []history.Operation{
		{Outcome: history.Undone, Lost: true, Call: 5, Return: 12},
		{Outcome: history.Undone, Lost: true, Call: 21, Return: 30},
		{Outcome: history.Undone, Call: 1, Return: 9},
		{Outcome: history.Answered, Call: 5, Return: 12},
	}
	got := r.asSeen(h)
	for i, want := range []history.Outcome{history.Unknown, history.Undone, history.Undone, history.Answered} {
		if got[i].Outcome != want {
			t.Errorf("operation %d is %v, want %v", i, got[i].Outcome, want)
		}
	}
	if got[0].Lost || !got[1].Lost || h[0].Outcome != history.Undone {
		t.Errorf("%+v of %+v", got, h)
	}
}
