//go:build linux

package main

import (
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"raisinproxy/backend/redis/redistest"
	"raisinproxy/internal/torture"
)

// twoProxies are two processes on one Redis of any kind, which others may use too.
func twoProxies(t *testing.T) (a, b *torture.Proxy) {
	t.Helper()
	config := overRedis(at(redistest.URL(t)), redisTimeout) + "namespace = \"raisin:test:" + strconv.FormatInt(time.Now().UnixNano(), 36) + "\"\n"
	return newProxy(t, config), newProxy(t, config)
}

// ask runs a statement that gives one row, and gives its values as text.
func ask(t *testing.T, conn *pgconn.PgConn, sql string) []string {
	t.Helper()
	result := conn.ExecParams(t.Context(), sql, nil, nil, nil, nil).Read()
	if result.Err != nil || len(result.Rows) != 1 {
		t.Fatalf("%s: %d rows, %v", sql, len(result.Rows), result.Err)
	}
	var values []string
	for _, value := range result.Rows[0] {
		values = append(values, string(value))
	}
	return values
}

func TestLockThroughTwoProxies(t *testing.T) {
	one, two := twoProxies(t)
	a := connect(t, one.Address(), "user=alice sslmode=disable")
	b := connect(t, two.Address(), "user=bob sslmode=disable")
	granted := ask(t, a, "SELECT acquired, token FROM raisin_lock_acquire('seat:14A', 2000)")
	if granted[0] != "t" {
		t.Fatal("a free lock was refused")
	}
	if refused := ask(t, b, "SELECT acquired, token FROM raisin_lock_acquire('seat:14A', 2000)"); refused[0] != "f" || refused[1] != "" {
		t.Errorf("the lock that the other proxy granted: %q", refused)
	}
	// The token is the key to the lock for its user, through any proxy, and for nobody else.
	if freed := ask(t, b, "SELECT raisin_lock_release('seat:14A', "+granted[1]+")"); freed[0] != "f" {
		t.Error("another user has released the lock")
	}
	elsewhere := connect(t, two.Address(), "user=alice sslmode=disable")
	if freed := ask(t, elsewhere, "SELECT raisin_lock_release('seat:14A', "+granted[1]+")"); freed[0] != "t" {
		t.Error("the token is not known to the other proxy")
	}
	if late := ask(t, a, "SELECT raisin_lock_renew('seat:14A', "+granted[1]+", 2000)"); late[0] != "f" {
		t.Error("renewed after the other proxy released it")
	}
	again := ask(t, b, "SELECT acquired, token FROM raisin_lock_acquire('seat:14A', 2000)")
	if again[0] != "t" || number(t, again[1]) <= number(t, granted[1]) {
		t.Errorf("%q after token %s", again, granted[1])
	}
}

// Each of 500 units is sold once to 1000 claims.
func TestInventoryThroughTwoProxies(t *testing.T) {
	const units, callers, claims = 500, 10, 100
	one, two := twoProxies(t)
	var mu sync.Mutex
	var left []int64
	var all sync.WaitGroup
	for i := range callers {
		address := []string{one.Address(), two.Address()}[i%2]
		conn := connect(t, address, "user=alice sslmode=disable")
		all.Go(func() {
			for range claims {
				result := conn.ExecParams(t.Context(), "SELECT claimed, remaining FROM raisin_inventory_claim('concert', 1, 500)", nil, nil, nil, nil).Read()
				if result.Err != nil {
					t.Error(result.Err)
					return
				}
				remaining, err := strconv.ParseInt(string(result.Rows[0][1]), 10, 64)
				switch {
				case err != nil:
					t.Error(err)
				case string(result.Rows[0][0]) == "t":
					mu.Lock()
					left = append(left, remaining)
					mu.Unlock()
				case remaining != 0:
					t.Errorf("refused with %d remaining", remaining)
				}
			}
		})
	}
	all.Wait()
	slices.Sort(left)
	if len(left) != units {
		t.Fatalf("%d units were sold, want %d", len(left), units)
	}
	for i, remaining := range left {
		if remaining != int64(i) {
			t.Fatalf("the counts told are not each of 0 to %d once: %v", units-1, left)
		}
	}
}

// A holder whose proxy slept past the lease finds that it has lost it, and harms nobody.
func TestStoppedProxyLosesItsLocks(t *testing.T) {
	one, two := twoProxies(t)
	a := connect(t, one.Address(), "user=alice sslmode=disable")
	b := connect(t, two.Address(), "user=bob sslmode=disable")
	old := ask(t, a, "SELECT acquired, token FROM raisin_lock_acquire('seat:14A', 300)")
	if err := one.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	granted := []string{"f"}
	for ; granted[0] != "t"; <-again.C {
		granted = ask(t, b, "SELECT acquired, token FROM raisin_lock_acquire('seat:14A', 2000)")
	}
	if number(t, granted[1]) <= number(t, old[1]) {
		t.Errorf("token %s after %s", granted[1], old[1])
	}
	if err := one.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for _, call := range []string{"renew('seat:14A', " + old[1] + ", 2000)", "release('seat:14A', " + old[1] + ")"} {
		if answer := ask(t, a, "SELECT raisin_lock_"+call); answer[0] != "f" {
			t.Errorf("%s is true although the other proxy has granted the lock since", call)
		}
	}
	if held := ask(t, b, "SELECT raisin_lock_renew('seat:14A', "+granted[1]+", 2000)"); held[0] != "t" {
		t.Error("the new holder lost the lock")
	}
}

func number(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
