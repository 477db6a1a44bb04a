package backendtest

import (
	"testing"
	"time"
)

func TestClockMovesByHandOnly(t *testing.T) {
	var c Clock
	noon := time.Date(2026, time.November, 29, 12, 0, 0, 0, time.UTC)
	expect := func(boot time.Duration, wall time.Time) {
		t.Helper()
		if c.Boot() != boot || !c.Wall().Equal(wall) {
			t.Errorf("Boot %v, Wall %v; want %v, %v", c.Boot(), c.Wall(), boot, wall)
		}
	}
	expect(0, noon)
	c.Advance(time.Minute)
	expect(time.Minute, noon.Add(time.Minute))
	c.StepWall(-time.Hour)
	expect(time.Minute, noon.Add(-59*time.Minute))
	c.Advance(time.Nanosecond)
	expect(time.Minute+1, noon.Add(-59*time.Minute+1))
	c.StepWall(2 * time.Hour)
	expect(time.Minute+1, noon.Add(61*time.Minute+1))
}

func TestClockRefusesToGoBack(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("Advance by a negative time did not panic")
		}
	}()
	new(Clock).Advance(-1)
}
