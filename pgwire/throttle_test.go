package pgwire

import (
	"net"
	"net/netip"
	"testing"
	"time"
)

func TestThrottle(t *testing.T) {
	var th throttle
	now := time.Date(2026, time.November, 29, 12, 0, 0, 0, time.UTC)
	here, there := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	var delays []time.Duration
	for range 12 {
		delays = append(delays, th.delay(here, now))
		th.failed(here, now)
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
	var th throttle
	now := time.Date(2026, time.November, 29, 12, 0, 0, 0, time.UTC)
	address := netip.MustParseAddr("10.0.0.0")
	for range 3 * maxAddresses {
		address = address.Next()
		th.failed(address, now)
		if len(th.failures) > maxAddresses {
			t.Fatalf("%d addresses are remembered", len(th.failures))
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
		if got := networkOf(tcp); got.String() != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
	if got := networkOf(&net.UnixAddr{}); got.IsValid() {
		t.Errorf("of a socket in the file system: %s", got)
	}
}
