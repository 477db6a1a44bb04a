package main

import (
	"path/filepath"
	"testing"
)

// TestLimits: what one user, and the users of one tenant, may take is bounded, in one
// statement too. Nothing is made beyond it.
func TestLimits(t *testing.T) {
	dir := configDir(t, `
[pgwire]
port = 0
[locks]
enabled = true
max_leases_per_user = 2
max_pools_per_tenant = 2
[locks.inprocess]
data_dir = ""
`)
	p := start(t, "main", "--config", filepath.Join(dir, "raisin.toml"))
	conn := connect(t, p.await(t, "listening")["address"].(string), "user=alice password=pencil sslmode=disable")
	for _, step := range []struct{ sql, state string }{
		{"select raisin_lock_acquire('a', 60000), raisin_lock_acquire('b', 60000)", ""},
		{"select raisin_lock_acquire('c', 60000)", "53400"},
		{"select raisin_lock_acquire('a', 60000)", ""}, // it is held, and nothing is taken
		{"select raisin_inventory_claim('p', 1, 10), raisin_inventory_claim('q', 1, 10)", ""},
		{"select raisin_inventory_claim('r', 1, 10)", "53400"},
		{"select raisin_inventory_release('r', 1)", "42704"},
		{"select raisin_inventory_claim('p', 1, 10)", ""},
	} {
		if _, err := conn.Exec(t.Context(), step.sql).ReadAll(); !ended(err, step.state) {
			t.Errorf("%s: %v, want %q", step.sql, err, step.state)
		}
	}
}
