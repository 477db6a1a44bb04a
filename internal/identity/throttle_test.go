package identity

import (
	"context"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestThrottle(t *testing.T) {
	var th Throttle
	now := time.Date(2026, time.November, 29, 12, 0, 0, 0, time.UTC)
	here, there := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	var delays []time.Duration
	for range 12 {
		delays = append(delays, th.delay(here, now))
		th.Failed(here, now)
	}
	for i, want := range []int64{0, 0, 0, 0, 0, 100, 200, 400, 800, 1600, 3000, 3000} {
		if got := delays[i].Milliseconds(); got != want {
			t.Errorf("after %d failures: %d ms, want %d", i, got, want)
		}
	}
	if d := th.delay(there, now); d != 0 {
		t.Errorf("another address waits %v", d)
	}
	if d := th.delay(here, now.Add(halfLife)); d != 200*time.Millisecond { // 12 failures count as 6
		t.Errorf("after a minute: %v, want 200ms", d)
	}
	if d := th.delay(here, now.Add(10*halfLife)); d != 0 {
		t.Errorf("after ten minutes: %v, want none", d)
	}
}

// TestThrottleIsBounded: a flood from everywhere takes no more than its room.
func TestThrottleIsBounded(t *testing.T) {
	var th Throttle
	now := time.Date(2026, time.November, 29, 12, 0, 0, 0, time.UTC)
	address := netip.MustParseAddr("10.0.0.0")
	for range 3 * maxNetworks {
		address = address.Next()
		th.Failed(address, now)
		if len(th.networks) > maxNetworks {
			t.Fatalf("%d addresses are remembered", len(th.networks))
		}
	}
}

func TestNetworkOf(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1:5":              "192.0.2.1",
		"[::ffff:192.0.2.1]:5":     "192.0.2.1",
		"[2001:db8:1:2:3:4:5:6]:5": "2001:db8:1:2::",
	} {
		tcp := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address))
		if got := NetworkOf(tcp); got.String() != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
	if got := NetworkOf(&net.UnixAddr{}); got.IsValid() {
		t.Errorf("of a socket in the file system: %s", got)
	}
}

// TestManyAttemptsAtOnce: however many connections of one network try passwords at once,
// they are judged as fast as those of one that tries again and again.
func TestManyAttemptsAtOnce(t *testing.T) {
	for connections, want := range map[int]int{1: 12, 900: 12} {
		t.Run(strconv.Itoa(connections), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var th Throttle
				here, there := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				var judged atomic.Int64
				var group sync.WaitGroup
				for range connections {
					group.Go(func() {
						for {
							done, err := th.Turn(ctx, here)
							if err != nil {
								return
							}
							judged.Add(1)
							th.Failed(here, time.Now())
							done()
						}
					})
				}
				synctest.Wait()
				began := time.Now()
				done, err := th.Turn(ctx, there)
				if err != nil || time.Since(began) != 0 {
					t.Errorf("an attempt from elsewhere waited %v: %v", time.Since(began), err)
				}
				done()
				group.Wait()
				// Five at once, then after 0.1, 0.2, 0.4, 0.8, 1.6, 3 and 3 s.
				if got := int(judged.Load()); got != want {
					t.Errorf("%d attempts were judged in 10 s, want %d", got, want)
				}
				if a := th.networks[here]; a.present != 0 {
					t.Errorf("somebody is waiting still: %+v", a)
				}
			})
		})
	}
}

// TestFailuresCountWhileAnAttemptWaits: what is known of a network when an attempt comes is
// looked at again when its wait is over.
func TestFailuresCountWhileAnAttemptWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var th Throttle
		here := netip.MustParseAddr("192.0.2.1")
		for range freeFailures {
			th.Failed(here, time.Now())
		}
		began := time.Now()
		time.AfterFunc(firstDelay/2, func() { th.Failed(here, time.Now()) })
		done, err := th.Turn(t.Context(), here)
		if err != nil {
			t.Fatal(err)
		}
		defer done()
		if waited := time.Since(began); waited != 2*firstDelay {
			t.Errorf("waited %v, want %v", waited, 2*firstDelay)
		}
	})
}

// TestAttemptThatLeavesTheQueue: one that goes away holds nobody up, whenever it goes.
func TestAttemptThatLeavesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var th Throttle
		here := netip.MustParseAddr("192.0.2.1")
		first, err := th.Turn(t.Context(), here)
		if err != nil {
			t.Fatal(err)
		}
		ctx, leave := context.WithCancel(t.Context())
		var left, next error
		go func() { _, left = th.Turn(ctx, here) }()
		synctest.Wait()
		go func() {
			var done func()
			if done, next = th.Turn(t.Context(), here); next == nil {
				done()
			}
		}()
		synctest.Wait()
		leave()
		synctest.Wait()
		first()
		synctest.Wait()
		if left == nil || next != nil {
			t.Errorf("who left: %v; the next: %v", left, next)
		}
		if len(th.networks) != 0 {
			t.Errorf("remembered without a failure: %v", th.networks)
		}
	})
}
