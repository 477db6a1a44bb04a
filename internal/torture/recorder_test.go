package torture

import (
	"testing"
	"testing/synctest"
	"time"

	"raisinproxy/backend/history"
)

// A call that nobody was told of returns when nothing can come of it any more.
func TestUnknownReturnsWhenSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		r.begin()
		r.end(&history.Operation{Client: 1, Outcome: history.Unknown, Return: time.Millisecond})
		r.begin()
		r.end(&history.Operation{Client: 2, OK: true, Return: 2 * time.Millisecond})
		time.Sleep(time.Second)
		r.settled()
		time.Sleep(time.Second)
		r.settled()
		h := r.history()
		if h[0].Return != time.Second || h[1].Return != 2*time.Millisecond {
			t.Errorf("they return at %v and %v", h[0].Return, h[1].Return)
		}
		if n := r.acknowledged(); n != 1 {
			t.Errorf("%d changes were told, want 1", n)
		}
	})
}

func TestCutMarksTheReadersLast(t *testing.T) {
	r := newRecorder()
	for _, client := range []int{8, 8, 3} {
		r.begin()
		r.end(&history.Operation{Client: client})
	}
	r.cut(8)
	if h := r.history(); h[0].Cut || !h[1].Cut || h[2].Cut {
		t.Errorf("cut: %v, %v, %v", h[0].Cut, h[1].Cut, h[2].Cut)
	}
}

// A fault strikes when clients wait, and not for ever later.
func TestAwaitWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, enough := newRecorder(), make(chan struct{})
		go func() {
			r.awaitWaiting(t.Context(), 2)
			close(enough)
		}()
		waits := func() bool {
			synctest.Wait()
			select {
			case <-enough:
				return false
			default:
				return true
			}
		}
		r.begin()
		if !waits() {
			t.Error("one was enough")
		}
		r.end(&history.Operation{})
		r.begin()
		if !waits() {
			t.Error("one after the other was enough")
		}
		r.begin()
		if waits() {
			t.Error("two are not enough")
		}
	})
}
