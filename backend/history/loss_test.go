package history

import (
	"testing"
	"time"
)

func TestAPauseAfterALoss(t *testing.T) {
	h := []Operation{acquired(0, 1, 5), acquired(500, 510, 6)}
	for _, c := range []struct {
		pause Pause
		found int
	}{
		{Pause{Key: "k", From: 400 * time.Millisecond, Until: 600 * time.Millisecond}, 1},
		{Pause{Key: "k", From: 505 * time.Millisecond, Until: 600 * time.Millisecond}, 0}, // asked before it
		{Pause{Key: "k", From: 400 * time.Millisecond, Until: 505 * time.Millisecond}, 0}, // may be granted after it
		{Pause{Key: "other", From: 400 * time.Millisecond, Until: 600 * time.Millisecond}, 0},
	} {
		r := rules
		r.Pauses = []Pause{c.pause}
		if found := Check(h, r); len(found) != c.found {
			t.Errorf("%+v: found %v, want %d", c.pause, found, c.found)
		}
	}
}

func TestALossThatIsNone(t *testing.T) {
	lost := undone(claimed(0, 1, 1, 0))
	lost.Lost = true
	for lossless, want := range map[bool]int{false: 0, true: 1} {
		r := rules
		r.Lossless = lossless
		if found := Check([]Operation{lost}, r); len(found) != want {
			t.Errorf("lossless %v: found %v, want %d", lossless, found, want)
		}
	}
}
