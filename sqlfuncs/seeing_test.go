package sqlfuncs_test

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"raisinproxy/backend"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

func function(t *testing.T, name string) *sqlfuncs.Function {
	t.Helper()
	f, ok := sqlfuncs.Lookup(name)
	if !ok {
		t.Fatalf("there is no %s", name)
	}
	return f
}

var acquired, expires = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), time.Date(2026, 11, 30, 12, 5, 0, 500_000_000, time.UTC)

// TestTokensAreShownToHolders: and to administrators, and to everybody where nobody is kept as
// the holder, since then anybody may end the lease.
func TestTokensAreShownToHolders(t *testing.T) {
	store := &recorder{leases: []backend.Lease{
		{Key: "k", User: "alice", Token: 42, AcquiredAt: acquired, ExpiresAt: expires, Waiters: 2},
		{Key: "old", Token: 43, ExpiresAt: expires},
	}}
	service := sqlfuncs.NewService(store, minute)
	at, end := datum.OfTime(acquired), datum.OfTime(expires)
	of := func(token datum.Datum) sqlfuncs.Row {
		return sqlfuncs.Row{datum.OfText("k"), datum.OfText("alice"), token, at, end, datum.OfInt(2), datum.OfText("lease")}
	}
	old := sqlfuncs.Row{datum.OfText("old"), datum.Null, datum.OfInt(43), datum.Null, end, datum.OfInt(0), datum.OfText("lease")}
	for user, token := range map[string]datum.Datum{"alice": datum.OfInt(42), "carol": datum.OfInt(42), "bob": datum.Null, "Alice": datum.Null} {
		caller := sqlfuncs.Caller{User: user, Scope: alice.Scope}
		locks := function(t, "raisin_locks")
		rows, err := service.Rows(t.Context(), &caller, locks, []datum.Datum{datum.OfText(""), datum.OfInt(10)}, ignore)
		if want := []sqlfuncs.Row{of(token), old}; err != nil || !slices.Equal(rows, want) {
			t.Errorf("raisin_locks() for %s: %+v, %v; want %+v", user, rows, err, want)
		}
		row, err := service.Call(t.Context(), &caller, function(t, "raisin_lock_get"), []datum.Datum{datum.OfText("k")}, ignore)
		want := sqlfuncs.Row{datum.OfBool(true)}
		full := of(token)
		copy(want[1:], full[:7])
		if err != nil || row != want {
			t.Errorf("raisin_lock_get for %s: %+v, %v; want %+v", user, row, err, want)
		}
	}
	row, err := service.Call(t.Context(), &alice, function(t, "raisin_lock_get"), []datum.Datum{datum.OfText("free")}, ignore)
	if want := (sqlfuncs.Row{datum.OfBool(false), datum.OfText("free"), datum.Null, datum.Null, datum.Null, datum.Null, datum.OfInt(1), datum.Null}); err != nil || row != want {
		t.Errorf("raisin_lock_get of a free lock: %+v, %v; want %+v", row, err, want)
	}
}

// TestJSONOfTimes is what PostgreSQL 15 prints for the same values with TimeZone UTC.
func TestJSONOfTimes(t *testing.T) {
	get := function(t, "raisin_lock_get")
	row := sqlfuncs.Row{datum.OfBool(true), datum.OfText("k"), datum.OfText("alice"), datum.Null, datum.OfTime(acquired), datum.OfTime(expires), datum.OfInt(0), datum.OfText("lease")}
	const want = `{"key": "k", "held": true, "kind": "lease", "token": null, "holder": "alice", "waiters": 0, "expires_at": "2026-11-30T12:05:00.5+00:00", "acquired_at": "2026-11-30T12:00:00+00:00"}`
	if got := string(get.AppendScalar(nil, &row)); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	column := get.ColumnIndex("expires_at")
	for quoted, want := range map[bool]string{true: `"2026-11-30T12:05:00.5+00:00"`, false: "2026-11-30T12:05:00.5+00:00"} {
		if got := get.FieldText(&row, column, quoted); got != want {
			t.Errorf("a field, quoted %v: %s, want %s", quoted, got, want)
		}
	}
}

// TestOnlyAdministrators: the rule comes before values are looked at, and what they do is logged.
func TestOnlyAdministrators(t *testing.T) {
	for _, f := range sqlfuncs.Functions {
		if !f.Admin {
			continue
		}
		store := &recorder{}
		var log bytes.Buffer
		options := minute
		options.Log = slog.New(slog.NewTextHandler(&log, nil))
		service := sqlfuncs.NewService(store, options)
		_, err := service.Call(t.Context(), &alice, f, make([]datum.Datum, len(f.Args)), ignore)
		if want := f.Name + " requires an administrator"; code(err) != "42501" || pgerr.From(err).Message != want {
			t.Errorf("%s as alice: %v, want %s", f.Name, err, want)
		}
		if len(store.calls) > 0 || log.Len() > 0 {
			t.Errorf("%s as alice: %v, logged %s", f.Name, store.calls, &log)
		}
		if _, err := service.Call(t.Context(), &carol, f, goodArgs(f), ignore); err != nil || len(store.calls) != 1 {
			t.Errorf("%s as carol: %v, %v", f.Name, err, store.calls)
		}
		for _, part := range []string{"INFO", "function=" + f.Name, "user=carol", "tenant=t", "repository=r", "branch=b", "name"} {
			if !strings.Contains(log.String(), part) {
				t.Errorf("the log of %s is without %q: %s", f.Name, part, &log)
			}
		}
	}
}

func TestFirstOfManyKeys(t *testing.T) {
	first := function(t, "raisin_lock_acquire_first")
	for keys, want := range map[string]string{
		`{a}`:            `acquire first {t r b} ["a"] {5ms 0s alice}`,
		`{b,"a ,b","ü"}`: `acquire first {t r b} ["b" "a ,b" "ü"] {5ms 0s alice}`,
		`{}`:             `acquire first {t r b} [] {5ms 0s alice}`,
		`{a,b,c,d}`:      "22023", // one more than MaxKeys
		`{a,""}`:         "22023",
		`{NULL}`:         "22023",
		`{{a},{b}}`:      "0A000",
	} {
		store := &recorder{}
		row, err := sqlfuncs.NewService(store, minute).Call(t.Context(), &alice, first, []datum.Datum{datum.OfText(keys), datum.OfInt(5)}, ignore)
		got := code(err) + strings.Join(store.calls, ";")
		if got != want {
			t.Errorf("%s: %s (%v), want %s", keys, got, err, want)
		}
		if keys == "{}" && row != (sqlfuncs.Row{datum.OfBool(false), datum.Null, datum.Null, datum.Null}) {
			t.Errorf("no keys: %+v", row)
		}
		if err == nil && keys != "{}" && (row[1].Str != strings.Trim(strings.Split(keys, ",")[0], "{}") || row[2] != datum.OfInt(7)) {
			t.Errorf("%s: the row %+v", keys, row)
		}
	}
}

func TestTooManyRows(t *testing.T) {
	for _, name := range []string{"raisin_locks", "raisin_inventory_pools"} {
		service := sqlfuncs.NewService(&recorder{err: backend.ErrTooManyRows}, minute)
		_, err := service.Rows(t.Context(), &alice, function(t, name), []datum.Datum{datum.OfText("p"), datum.OfInt(12)}, ignore)
		told, ok := errors.AsType[*pgerr.Error](err)
		if want := name + ": there are more rows than max_rows, which is 12"; !ok || told.Code != "54000" || told.Message != want {
			t.Errorf("%v, want 54000 %s", err, want)
		}
	}
	rows, err := sqlfuncs.NewService(&recorder{}, minute).Rows(t.Context(), &alice, function(t, "raisin_inventory_pools"), []datum.Datum{datum.OfText(""), datum.OfInt(1)}, ignore)
	if want := []sqlfuncs.Row{{datum.OfText("p"), datum.Null, datum.OfInt(3), datum.OfInt(0)}}; err != nil || !slices.Equal(rows, want) {
		t.Errorf("raisin_inventory_pools(): %+v, %v; want %+v", rows, err, want)
	}
}

// TestCounts: every call is counted once, by what it came to.
func TestCounts(t *testing.T) {
	store := &recorder{}
	service := sqlfuncs.NewService(store, minute)
	calls := func() map[string]int64 {
		got := map[string]int64{}
		for _, c := range service.Counts().Calls {
			if c.Calls > 0 {
				got[c.Function+" "+c.Outcome.String()] = c.Calls
			}
		}
		return got
	}
	acquire, get, locks := function(t, "raisin_lock_acquire"), function(t, "raisin_lock_get"), function(t, "raisin_locks")
	for _, args := range [][]datum.Datum{{datum.OfText("k"), datum.OfInt(5), datum.OfInt(0)}, {datum.OfText(""), datum.OfInt(5), datum.OfInt(0)}} {
		_, _ = service.Call(t.Context(), &alice, acquire, args, ignore)
	}
	_, _ = service.Call(t.Context(), &alice, get, []datum.Datum{datum.OfText("k")}, ignore)
	_, _ = service.Rows(t.Context(), &alice, locks, []datum.Datum{datum.OfText(""), datum.OfInt(5)}, ignore)
	store.err = backend.ErrUnavailable
	_, _ = service.Rows(t.Context(), &alice, locks, []datum.Datum{datum.OfText(""), datum.OfInt(5)}, ignore)
	want := map[string]int64{
		"raisin_lock_acquire done": 1, "raisin_lock_acquire failed": 1, "raisin_lock_get done": 1, "raisin_locks done": 1, "raisin_locks failed": 1,
	}
	got := calls()
	for name, n := range want {
		if got[name] != n {
			t.Errorf("%s: %d, want %d", name, got[name], n)
		}
	}
	if len(got) != len(want) {
		t.Errorf("counted %v, want %v", got, want)
	}
	if c := service.Counts(); c.Waiting != 0 || c.Known {
		t.Errorf("%+v", c)
	}
}
