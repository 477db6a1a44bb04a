package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"raisinproxy/internal/testservers"
)

// How much TestKilledWhileSelling does. `make kill` does all of it.
var (
	killRounds = flag.Int("kill.rounds", 3, "how often the server is killed")
	killClaims = flag.Int("kill.claims", 600, "claims for each time that it is killed")
)

// durableConfig is a configuration whose locks are on disk, beside it.
func durableConfig(t *testing.T) string {
	t.Helper()
	return filepath.Join(configDir(t, `
[pgwire]
port = 0
[auth]
method = "trust"
[locks]
enabled = true
`), "raisin.toml")
}

func TestDataFolderIsForOneProcess(t *testing.T) {
	config := durableConfig(t)
	first := start(t, "main", "--config", config)
	first.await(t, "listening")
	second := start(t, "main", "--config", config)
	record := second.await(t, "cannot start")
	if _, code := second.end(t); code != exitFailure ||
		!strings.Contains(record["error"].(string), fmt.Sprintf("raisinproxy-data is open in process %d", first.Pid())) {
		t.Errorf("exit %d: %v", code, record)
	}
	first.stop(t)
	third := start(t, "main", "--config", config)
	third.await(t, "listening")
}

func TestDamagedStoreIsNotServed(t *testing.T) {
	config := durableConfig(t)
	p := start(t, "main", "--config", config)
	p.await(t, "listening")
	p.stop(t)
	manifests, err := filepath.Glob(filepath.Join(filepath.Dir(config), "raisinproxy-data", "MANIFEST-*"))
	if err != nil || len(manifests) == 0 {
		t.Fatalf("no manifest: %v", err)
	}
	for _, path := range manifests {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	p = start(t, "main", "--config", config)
	record := p.await(t, "cannot start")
	if _, code := p.end(t); code != exitFailure || !strings.Contains(record["error"].(string), "restore the folder from a backup") {
		t.Errorf("exit %d: %v", code, record)
	}
}

// sale is what the buyers of one pool were told, over all restarts of the server.
type sale struct {
	claims  atomic.Int64 // left to make
	mu      sync.Mutex
	told    map[int64]int // how often each remaining count was told
	inDoubt int           // claims whose answer did not come
}

const forSale = 1 << 40

// buy claims units one by one until the claims are used up or the server is gone.
func (s *sale) buy(ctx context.Context, address string, bought func()) error {
	conn, err := pgx.Connect(ctx, "postgres://alice@"+address+"/shop?sslmode=disable")
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer conn.Close(ctx)
	for s.claims.Add(-1) >= 0 {
		var claimed bool
		var remaining int64
		err := conn.QueryRow(ctx, "SELECT claimed, remaining FROM raisin_inventory_claim('tickets', 1, $1)", int64(forSale)).
			Scan(&claimed, &remaining)
		if err != nil && conn.IsClosed() {
			s.mu.Lock()
			s.inDoubt++
			s.mu.Unlock()
			return nil
		}
		if err != nil || !claimed {
			return fmt.Errorf("claimed = %v, %d remaining: %w", claimed, remaining, err)
		}
		s.mu.Lock()
		s.told[remaining]++
		s.mu.Unlock()
		bought()
	}
	return nil
}

// The server is killed while it sells, again and again: no unit is lost or sold
// twice, and a lock that was held is held.
func TestKilledWhileSelling(t *testing.T) {
	const buyers = 8
	server := filepath.Join(build(t, "./cmd/raisinproxy"), "raisinproxy")
	config := durableConfig(t)
	run := func() (*process, string) {
		p := startProgram(t, testservers.Options{Path: server, Args: []string{"--config", config}})
		return p, p.await(t, "listening")["address"].(string)
	}
	s := &sale{told: map[int64]int{}}
	sell := func(address string, bought func()) {
		var all sync.WaitGroup
		for range buyers {
			all.Go(func() {
				if err := s.buy(t.Context(), address, bought); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	random := rand.New(rand.NewPCG(1, 2))
	var token int64
	for round := range *killRounds {
		p, address := run()
		token = holdAgain(t, address, token)
		s.claims.Store(int64(*killClaims))
		// Somewhere in the middle half.
		killAt := int64(*killClaims/4 + random.IntN(*killClaims/2))
		var answered atomic.Int64
		sell(address, func() {
			if answered.Add(1) == killAt {
				p.Kill()
			}
		})
		p.Wait()
		after, address := run()
		sold := s.check(t, address)
		t.Logf("round %d: killed after %d claims; so far %d are acknowledged, %d in doubt, %d sold",
			round, killAt, len(s.told), s.inDoubt, sold)
		sell(address, func() {}) // the rest of this round's
		s.check(t, address)
		after.stop(t)
	}
	if s.inDoubt == 0 {
		t.Error("vacuous: no claim was in doubt")
	}
	_, address := run()
	t.Logf("in all: %d claims acknowledged, %d in doubt, %d units sold", len(s.told), s.inDoubt, s.check(t, address))
}

// check compares what is left in the pool with what the buyers were told.
func (s *sale) check(t *testing.T, address string) (sold int64) {
	t.Helper()
	conn := connect(t, address, "user=alice sslmode=disable")
	result, err := conn.Exec(t.Context(), "SELECT remaining FROM raisin_inventory_claim('tickets', 9223372036854775807, 1)").ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var left int64
	if _, err := fmt.Sscan(string(result[0].Rows[0][0]), &left); err != nil {
		t.Fatal(err)
	}
	sold = forSale - left
	acknowledged := int64(len(s.told))
	if sold < acknowledged || sold > acknowledged+int64(s.inDoubt) {
		t.Errorf("%d units are sold; %d claims were acknowledged and %d are in doubt", sold, acknowledged, s.inDoubt)
	}
	for remaining, times := range s.told {
		if times > 1 || remaining < left || remaining >= forSale {
			t.Errorf("%d buyers were told that %d remain; now there are %d", times, remaining, left)
		}
	}
	return sold
}

// holdAgain checks that the lock of token is still held, and takes it anew; 0:
// nobody holds it yet.
func holdAgain(t *testing.T, address string, token int64) int64 {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), "postgres://alice@"+address+"/shop?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var answers []bool
	var next int64
	if token != 0 {
		var acquired, renewed, released bool
		err := conn.QueryRow(t.Context(), "SELECT a.acquired, raisin_lock_renew('l', $1, 300000), raisin_lock_release('l', $1) "+
			"FROM raisin_lock_acquire('l', 1000) a", token).Scan(&acquired, &renewed, &released)
		if answers = []bool{acquired, renewed, released}; err != nil || !slices.Equal(answers, []bool{false, true, true}) {
			t.Errorf("after the server was killed, acquire, renew and release of a held lock say %v, %v", answers, err)
		}
	}
	var acquired bool
	err = conn.QueryRow(t.Context(), "SELECT acquired, token FROM raisin_lock_acquire('l', 300000)").Scan(&acquired, &next)
	if err != nil || !acquired || next <= token {
		t.Fatalf("acquired = %v with token %d after %d: %v", acquired, next, token, err)
	}
	return next
}

// What repair says, and what it does when it is told to.
func TestRepairCommand(t *testing.T) {
	config := durableConfig(t)
	dir := filepath.Join(filepath.Dir(config), "raisinproxy-data")
	p := start(t, "main", "--config", config)
	conn := connect(t, p.await(t, "listening")["address"].(string), "user=alice dbname=shop sslmode=disable")
	if _, err := conn.Exec(t.Context(), "SELECT raisin_inventory_claim('p', 1, 10)").ReadAll(); err != nil {
		t.Fatal(err)
	}
	repair := func(args ...string) (string, int) {
		return tool(t, append([]string{"repair", "--data-dir", dir}, args...)...)
	}
	if out, code := repair("--yes"); code != exitFailure || !strings.Contains(out, "is open in process") {
		t.Errorf("repair of a store that is in use: exit %d\n%s", code, out)
	}
	p.Kill()
	p.end(t)
	if out, code := repair("--yes"); code != 0 || !strings.Contains(out, "0 leases and 1 pools\nthe store in "+dir+" is whole") {
		t.Errorf("repair of a store that is whole: exit %d\n%s", code, out)
	}
	if err := os.Remove(filepath.Join(dir, "LEDGER")); err != nil {
		t.Fatal(err)
	}
	refused := start(t, "main", "--config", config)
	if told := refused.await(t, "cannot start")["error"].(string); !strings.Contains(told, "raisinproxy repair --data-dir "+dir) {
		t.Errorf("the start is refused with %q", told)
	}
	refused.end(t)
	if out, code := repair(); code != exitFailure || !strings.Contains(out, "missing: open "+dir) || !strings.Contains(out, "nothing was changed; with --yes") {
		t.Errorf("repair: exit %d\n%s", code, out)
	}
	if out, code := repair("--yes"); code != 0 || !strings.Contains(out, "the damaged folder is kept as "+dir+".damaged-") {
		t.Errorf("repair --yes: exit %d\n%s", code, out)
	}
	p = start(t, "main", "--config", config)
	conn = connect(t, p.await(t, "listening")["address"].(string), "user=alice dbname=shop sslmode=disable")
	results, err := conn.Exec(t.Context(), "SELECT * FROM raisin_inventory_claim('p', 1, 10)").ReadAll()
	if err != nil || string(results[0].Rows[0][1]) != "8" {
		t.Errorf("after the repair, %v, %v; want that 8 are left", results, err)
	}
}
