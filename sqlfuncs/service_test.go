package sqlfuncs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"raisinproxy/backend"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is a backend that notes what reaches it.
type recorder struct {
	calls  []string
	leases []backend.Lease
	err    error
}

func (r *recorder) note(format string, args ...any) error {
	r.calls = append(r.calls, fmt.Sprintf(format, args...))
	return r.err
}

func (r *recorder) Acquire(_ context.Context, s backend.Scope, key string, q backend.Request) (backend.Grant, error) {
	return backend.Grant{Acquired: true, Token: 7, ExpiresAt: time.UnixMilli(99)}, r.note("acquire %v %s %v", s, key, q)
}

func (r *recorder) Release(_ context.Context, s backend.Scope, key string, p backend.Proof) (bool, error) {
	return true, r.note("release %v %s %v", s, key, p)
}

func (r *recorder) Renew(_ context.Context, s backend.Scope, key string, p backend.Proof, ttl time.Duration) (bool, error) {
	return true, r.note("renew %v %s %v %v", s, key, p, ttl)
}

func (r *recorder) Look(_ context.Context, s backend.Scope, key string) (backend.Lease, bool, error) {
	for _, l := range r.leases {
		if l.Key == key {
			return l, true, r.note("look %v %s", s, key)
		}
	}
	return backend.Lease{Key: key, Waiters: 1}, false, r.note("look %v %s", s, key)
}

func (r *recorder) Claim(_ context.Context, s backend.Scope, pool string, n, capacity int64) (backend.Claimed, error) {
	return backend.Claimed{Claimed: true, Remaining: capacity - n}, r.note("claim %v %s %d %d", s, pool, n, capacity)
}

func (r *recorder) Restock(_ context.Context, s backend.Scope, pool string, n int64) (int64, error) {
	return n, r.note("restock %v %s %d", s, pool, n)
}

func (r *recorder) AcquireFirst(_ context.Context, s backend.Scope, keys []string, q backend.Request) (string, backend.Grant, error) {
	if len(keys) == 0 {
		return "", backend.Grant{}, r.note("acquire first %v %q %v", s, keys, q)
	}
	return keys[0], backend.Grant{Acquired: true, Token: 7, ExpiresAt: time.UnixMilli(99)}, r.note("acquire first %v %q %v", s, keys, q)
}

func (r *recorder) Leases(_ context.Context, s backend.Scope, prefix string, most int) ([]backend.Lease, error) {
	return r.leases, r.note("leases %v %s %d", s, prefix, most)
}

func (r *recorder) Evict(_ context.Context, s backend.Scope, key string) (backend.Lease, bool, error) {
	return backend.Lease{Key: key, User: "bob", Token: 7}, true, r.note("evict %v %s", s, key)
}

func (r *recorder) Count(_ context.Context, s backend.Scope, pool string) (backend.Pool, bool, error) {
	return backend.Pool{Name: pool, Capacity: 10, Remaining: 3}, true, r.note("count %v %s", s, pool)
}

func (r *recorder) Pools(_ context.Context, s backend.Scope, prefix string, most int) ([]backend.Pool, error) {
	return []backend.Pool{{Name: "p", Capacity: backend.UnknownCapacity, Remaining: 3}}, r.note("pools %v %s %d", s, prefix, most)
}

func (r *recorder) SetPool(_ context.Context, s backend.Scope, p backend.Pool) (backend.Pool, bool, error) {
	return backend.Pool{Name: p.Name, Capacity: 10, Remaining: 3}, true, r.note("set pool %v %v", s, p)
}

func (r *recorder) DropPool(_ context.Context, s backend.Scope, pool string) (bool, error) {
	return true, r.note("drop pool %v %s", s, pool)
}

func (r *recorder) Close() error { return nil }

// goodArgs are valid arguments of a function.
func goodArgs(f *sqlfuncs.Function) []datum.Datum {
	args := make([]datum.Datum, len(f.Args))
	for i, a := range f.Args {
		args[i] = datum.OfInt(5)
		switch a.Type {
		case datum.Text:
			args[i] = datum.OfText("name")
		case datum.TextArray:
			args[i] = datum.OfText("{name}")
		}
	}
	return args
}

func code(err error) string {
	if err == nil {
		return ""
	}
	return string(pgerr.From(err).Code)
}

func ignore(*pgerr.Error) {}

// called evaluates a call of any function.
func called(ctx context.Context, s *sqlfuncs.Service, c *sqlfuncs.Caller, f *sqlfuncs.Function, args []datum.Datum) error {
	if f.Set {
		_, err := s.Rows(ctx, c, f, args, ignore)
		return err
	}
	_, err := s.Call(ctx, c, f, args, ignore)
	return err
}

// minute are options with limits of a minute, and with carol as the administrator.
var minute = sqlfuncs.Options{MaxTTL: time.Minute, MaxWait: time.Minute, MaxKeys: 3, Administrators: []string{"carol", "anonymous", ""}}

// rightful is somebody who may call a function.
func rightful(f *sqlfuncs.Function) *sqlfuncs.Caller {
	if f.Admin {
		return &carol
	}
	return &alice
}

var carol = sqlfuncs.Caller{User: "carol", Scope: alice.Scope}

var alice = sqlfuncs.Caller{User: "alice", Scope: backend.Scope{Tenant: "t", Repository: "r", Branch: "b"}}

// TestNamedUserRule holds for every function of the catalogue, and comes before
// anything else: the disabled subsystem, the values, the backend.
func TestNamedUserRule(t *testing.T) {
	for _, f := range sqlfuncs.Functions {
		for _, user := range []string{"", "anonymous"} {
			for _, b := range []*recorder{nil, {}} {
				store := &recorder{}
				var service *sqlfuncs.Service
				if b == nil {
					service = sqlfuncs.NewService(nil, minute)
				} else {
					service = sqlfuncs.NewService(store, minute)
				}
				caller := sqlfuncs.Caller{User: user}
				err := called(t.Context(), service, &caller, f, make([]datum.Datum, len(f.Args)))
				want := f.Name + " requires an authenticated, non-anonymous user"
				if code(err) != "42501" || pgerr.From(err).Message != want {
					t.Errorf("%s as %q: %v", f.Name, user, err)
				}
				if code(service.Authorize(&caller, f)) != "42501" {
					t.Errorf("Authorize of %s as %q lets it pass", f.Name, user)
				}
				if len(store.calls) > 0 {
					t.Errorf("%s as %q reached the backend: %v", f.Name, user, store.calls)
				}
			}
		}
		service := sqlfuncs.NewService(&recorder{}, minute)
		caller := rightful(f)
		if err := called(t.Context(), service, caller, f, goodArgs(f)); err != nil {
			t.Errorf("%s as %s: %v", f.Name, caller.User, err)
		}
	}
}

func TestDisabled(t *testing.T) {
	service := sqlfuncs.NewService(nil, minute)
	for _, f := range sqlfuncs.Functions {
		err := called(t.Context(), service, rightful(f), f, make([]datum.Datum, len(f.Args)))
		if code(err) != "55000" || pgerr.From(err).Message != "Locks subsystem disabled. Enable [locks] in server config." {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
}

// TestBoundsReachNoBackend tries, for every argument of every function, NULL and
// what lies just outside its bounds.
func TestBoundsReachNoBackend(t *testing.T) {
	for _, f := range sqlfuncs.Functions {
		for i, a := range f.Args {
			bad := map[string]datum.Datum{"22004": datum.Null}
			switch {
			case a.Type == datum.TextArray:
				bad["22023"] = datum.OfText("{a,NULL}")
				bad["22001"] = datum.OfText("{a," + strings.Repeat("x", backend.MaxNameBytes+1) + "}")
				bad["22P02"] = datum.OfText("a")
			case a.Type == datum.Text:
				if a.Default == nil {
					bad["22023"] = datum.OfText("")
				}
				bad["22001"] = datum.OfText(strings.Repeat("x", backend.MaxNameBytes+1))
			case a.Min > -1<<63:
				bad["22023"] = datum.OfInt(a.Min - 1)
			}
			for want, value := range bad {
				store := &recorder{}
				args := goodArgs(f)
				args[i] = value
				err := called(t.Context(), sqlfuncs.NewService(store, minute), rightful(f), f, args)
				if code(err) != want || want != "22P02" && !strings.Contains(err.Error(), `"`+a.Name+`"`) {
					t.Errorf("%s(%s): got %v, want %s that names the argument", f.Name, a.Name, err, want)
				}
				if len(store.calls) > 0 {
					t.Errorf("%s(%s) reached the backend: %v", f.Name, a.Name, store.calls)
				}
			}
		}
	}
}

func TestLeaseIsCapped(t *testing.T) {
	acquire, _ := sqlfuncs.Lookup("raisin_lock_acquire")
	for _, test := range []struct {
		ttl     int64
		want    string
		notices int
	}{
		{59999, "59.999s", 0},
		{60000, "1m0s", 0},
		{60001, "1m0s", 1},
		{1<<63 - 1, "1m0s", 1},
	} {
		store := &recorder{}
		notices := 0
		args := []datum.Datum{datum.OfText("k"), datum.OfInt(test.ttl), datum.OfInt(0)}
		_, err := sqlfuncs.NewService(store, minute).Call(t.Context(), &alice, acquire, args, func(n *pgerr.Error) {
			notices++
			if n.Severity != pgerr.SeverityNotice {
				t.Errorf("severity %s", n.Severity)
			}
		})
		if want := "acquire {t r b} k {" + test.want + " 0s alice}"; err != nil || len(store.calls) != 1 || store.calls[0] != want || notices != test.notices {
			t.Errorf("ttl %d: %v, %v, %d notices", test.ttl, store.calls, err, notices)
		}
	}
}

// TestBackendErrors: each has its SQLSTATE, and what says nothing of itself is in
// doubt rather than harmless.
func TestBackendErrors(t *testing.T) {
	acquire, _ := sqlfuncs.Lookup("raisin_lock_acquire")
	canceled := pgerr.Newf("57014", "canceling statement due to user request")
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(canceled)
	for _, test := range []struct {
		ctx  context.Context
		err  error
		want string
	}{
		{t.Context(), backend.ErrNoPool, "42704"},
		{t.Context(), backend.ErrCountOverflow, "22003"},
		{t.Context(), backend.ErrTooManyPools, "53400"},
		{t.Context(), backend.ErrTooManyLeases, "53400"},
		{t.Context(), backend.ErrTooManyWaiters, "53000"},
		{t.Context(), backend.ErrUnavailable, "58000"},
		{t.Context(), backend.ErrPaused, "58000"},
		{t.Context(), backend.ErrOutOfResources, "53000"},
		{t.Context(), backend.ErrInDoubt, "40003"},
		{t.Context(), backend.ErrUnwritable, "58030"},
		{t.Context(), backend.ErrStateLost, "55000"},
		{t.Context(), backend.ErrPoolMissing, "55000"},
		{t.Context(), backend.ErrMoved, "55000"},
		{t.Context(), &backend.PoolValueError{Pool: "p", Value: "-3"}, "55000"},
		{t.Context(), &backend.LockValueError{Key: "k", Value: "ttl=-1"}, "55000"},
		{t.Context(), backend.ErrTokensExhausted, "55000"},
		{t.Context(), errors.New("anything"), "40003"},
		{t.Context(), fmt.Errorf("wrapped: %w", backend.ErrUnavailable), "58000"},
		{ended, fmt.Errorf("%w: %w", backend.ErrUnavailable, context.Canceled), "57014"},
		{ended, fmt.Errorf("%w: %w", backend.ErrInDoubt, context.Canceled), "40003"},
		{ended, backend.ErrUnavailable, "58000"},
	} {
		service := sqlfuncs.NewService(&recorder{err: test.err}, minute)
		row, err := service.Call(test.ctx, &alice, acquire, goodArgs(acquire), ignore)
		if code(err) != test.want {
			t.Errorf("%v: got %v, want %s", test.err, err, test.want)
		}
		if row != (sqlfuncs.Row{}) {
			t.Errorf("%v: a row was returned beside the error: %v", test.err, row)
		}
	}
}

// TestPoolsThatCannotBeCountedOnAreNamed: 55000 says which pool, what is wrong with it, and what helps.
func TestPoolsThatCannotBeCountedOnAreNamed(t *testing.T) {
	claim, _ := sqlfuncs.Lookup("raisin_inventory_claim")
	for _, test := range []struct {
		err           error
		message, hint string
	}{
		{backend.ErrPoolMissing, `pool "flight:AAA123" is missing since the backend lost its state`, "--allow-create"},
		{&backend.PoolValueError{Pool: "flight:AAA123", Value: "-3"}, `pool "flight:AAA123" has the value "-3", which is no count of units`, "raisin_admin_inventory_set"},
		{&backend.LockValueError{Key: "flight:AAA123", Value: "ttl=-1"}, `lock "flight:AAA123" has "ttl=-1", which is no lease that was granted`, "raisin_admin_lock_release"},
	} {
		service := sqlfuncs.NewService(&recorder{err: test.err}, minute)
		args := goodArgs(claim)
		args[0] = datum.OfText("flight:AAA123")
		_, err := service.Call(t.Context(), &alice, claim, args, ignore)
		told, ok := errors.AsType[*pgerr.Error](err)
		if !ok || told.Message != test.message || !strings.Contains(told.Hint, test.hint) {
			t.Errorf("%v is told as %+v", test.err, told)
		}
	}
}

// TestScalarForms are what PostgreSQL 15 prints for the same values as jsonb.
func TestScalarForms(t *testing.T) {
	acquire, _ := sqlfuncs.Lookup("raisin_lock_acquire")
	claim, _ := sqlfuncs.Lookup("raisin_inventory_claim")
	release, _ := sqlfuncs.Lookup("raisin_lock_release")
	for _, test := range []struct {
		f    *sqlfuncs.Function
		row  sqlfuncs.Row
		want string
	}{
		{acquire, sqlfuncs.Row{datum.OfBool(true), datum.OfText("seat:14A"), datum.OfInt(1795967949651973), datum.OfInt(1788720658677)},
			`{"key": "seat:14A", "token": 1795967949651973, "acquired": true, "expires_at_ms": 1788720658677}`},
		{acquire, sqlfuncs.Row{datum.OfBool(false), datum.OfText("k"), datum.Null, datum.Null}, `{"acquired": false}`},
		{acquire, sqlfuncs.Row{datum.OfBool(true), datum.OfText("\"\\\b\f\n\r\t\x01\x1f\x7f/é🔒"), datum.OfInt(1), datum.OfInt(2)},
			`{"key": "\"\\\b\f\n\r\t\u0001\u001f` + "\x7f" + `/é🔒", "token": 1, "acquired": true, "expires_at_ms": 2}`},
		{claim, sqlfuncs.Row{datum.OfBool(true), datum.OfInt(179)}, `{"claimed": true, "remaining": 179}`},
		{claim, sqlfuncs.Row{datum.OfBool(false), datum.OfInt(0)}, `{"claimed": false}`},
		{release, sqlfuncs.Row{datum.OfBool(true)}, `t`},
	} {
		if got := string(test.f.AppendScalar(nil, &test.row)); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}
