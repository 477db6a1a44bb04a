package frontend

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"raisinproxy/backend"
	"raisinproxy/backend/backendtest"
	"raisinproxy/backend/inprocess"
	"raisinproxy/pgwire/drive"
	"raisinproxy/pgwire/settings"
	"raisinproxy/pgwire/wiretest"
	"raisinproxy/planner"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/pgerr"
)

// deafConn is a connection from which nothing comes and to which everything goes.
type deafConn struct{ net.Conn }

func (deafConn) Read([]byte) (int, error)        { return 0, io.EOF }
func (deafConn) Write(b []byte) (int, error)     { return len(b), nil }
func (deafConn) SetReadDeadline(time.Time) error { return nil }
func (deafConn) SetDeadline(time.Time) error     { return nil }
func (deafConn) RemoteAddr() net.Addr            { return &net.TCPAddr{} }

// aliceSession makes a session of alice that is past its start-up, without a
// goroutine and without a connection: the test is its driver.
func aliceSession(t testing.TB) *Session {
	t.Helper()
	store := inprocess.New(inprocess.Options{Clock: &backendtest.Clock{}})
	t.Cleanup(func() { store.Close() })
	defaults, err := settings.NewDefaults(settings.Options{})
	if err != nil {
		t.Fatal(err)
	}
	env := &Env{
		Functions:       sqlfuncs.NewService(store, sqlfuncs.Options{MaxTTL: 5 * time.Minute, MaxWait: 5 * time.Minute}),
		Planner:         planner.New(planner.Config{CacheBytes: 16 << 20}),
		Defaults:        defaults,
		Now:             time.Now,
		MaxMessageBytes: 1 << 30,
		Registry:        register{},
	}
	s := NewSession(t.Context(), env, deafConn{}, nil, slog.New(slog.DiscardHandler), NewEmbedded)
	s.View.Vars = settings.New(defaults, "alice")
	s.Caller = sqlfuncs.Caller{User: "alice", Scope: backend.Scope{Tenant: "default", Repository: "shop"}}
	s.Client.In.Limit = env.MaxMessageBytes
	s.Refresh()
	return s
}

// register lets everybody in.
type register struct{}

func (register) Admit(string) *pgerr.Error               { return nil }
func (register) Leave()                                  {}
func (register) Register(*drive.Client, int32) CancelKey { return CancelKey{PID: 1, Secret: 2} }
func (register) Unregister(*drive.Client, CancelKey)     {}

// answer gives input to the session and returns what it answers.
func (s *Session) answer(input []byte) []byte {
	s.Client.In.Append(input)
	s.runBuffered()
	out := bytes.Clone(s.Client.Out.Buf)
	s.Client.Out.Buf, s.Client.Out.Due = s.Client.Out.Buf[:0], false
	return out
}

// runBuffered is run without reading.
func (s *Session) runBuffered() drive.Verdict {
	for {
		switch v := s.Step(); v {
		case NeedPlan:
			s.plan()
		case NeedCall:
			s.call()
		case NeedRoom:
		default:
			return v
		}
	}
}

// TestStepDoesNotAllocate: statements whose plans are cached cost no memory, but
// for the values that a client sends, which have to be copied: with the literals of a text
// go the text itself and the plan that they are in.
func TestStepDoesNotAllocate(t *testing.T) {
	bind := "\x00named\x00\x00\x00\x00\x00\x00\x01\x00\x01"
	for _, test := range []struct {
		name  string
		input []byte
		most  float64
	}{
		{"select 1", wiretest.Frame('Q', "select 1\x00"), 0},
		{"refused acquire, simple", wiretest.Frame('Q', "select * from raisin_lock_acquire('held', 5000)\x00"), 2},
		{"refused acquire, scalar", wiretest.Frame('Q', "select raisin_lock_acquire('held', 5000)\x00"), 2},
		{"release of nothing", wiretest.Frame('Q', "select raisin_lock_release('k', 1)\x00"), 2},
		{"claim, simple", wiretest.Frame('Q', "select * from raisin_inventory_claim('pool', 1, 1000000000)\x00"), 2},
		{"claim, prepared", bytes.Join([][]byte{wiretest.Frame('B', bind), wiretest.Frame('E', "\x00\x00\x00\x00\x00"), wiretest.Frame('S', "")}, nil), 0},
		{"acquire and release", wiretest.Frame('Q', "select raisin_lock_release('new', (raisin_lock_acquire('new', 5000)).token)\x00"), 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := aliceSession(t)
			s.answer(wiretest.Frame('Q', "select * from raisin_lock_acquire('held', 300000)\x00"))
			s.answer(append(wiretest.Frame('P', "named\x00select * from raisin_inventory_claim('pool', 1, 1000000000)\x00\x00\x00"), wiretest.Frame('S', "")...))
			if first := s.answer(test.input); bytes.Contains(first, []byte("SERROR")) {
				t.Fatalf("answer: %q", first)
			}
			n := testing.AllocsPerRun(100, func() {
				s.Client.In.Buf = append(s.Client.In.Buf[:0], test.input...)
				s.Client.In.Start, s.Client.In.End = 0, len(test.input)
				if v := s.Step(); v != NeedInput {
					t.Fatalf("step handed over: %v", v)
				}
				s.Client.Out.Buf = s.Client.Out.Buf[:0]
			})
			if n > test.most {
				t.Errorf("%v allocations, want at most %v", n, test.most)
			}
		})
	}
}

// TestHotStatementIsNotParsedAgain: a text is parsed once, however many sessions
// send it, in whichever protocol and with whichever literals in its calls.
func TestHotStatementIsNotParsedAgain(t *testing.T) {
	s := aliceSession(t)
	input := append(wiretest.Frame('Q', "select * from raisin_lock_acquire('k', 5000)\x00"),
		append(wiretest.Frame('P', "\x00select raisin_lock_release($1, $2)\x00\x00\x00"), wiretest.Frame('S', "")...)...)
	s.answer(input)
	parsed := s.Env.Planner.Stats().Parses
	if parsed != 2 {
		t.Errorf("two texts were parsed %d times", parsed)
	}
	for i := range 1000 {
		s.answer(input)
		s.answer(wiretest.Frame('Q', fmt.Sprintf("select * from raisin_lock_acquire('k%d', %d)\x00", i, 5000+i)))
	}
	if now := s.Env.Planner.Stats().Parses; now != parsed {
		t.Errorf("hot texts were parsed %d times more", now-parsed)
	}
}

// FuzzStep: whatever bytes a client sends after start-up, the session answers or
// ends, and does not panic.
func FuzzStep(f *testing.F) {
	f.Add(wiretest.Frame('Q', "select 1; select raisin_lock_acquire('k', 1)\x00"))
	f.Add(append(wiretest.Frame('P', "\x00select $1::int\x00\x00\x01\x00\x00\x00\x17"), wiretest.Frame('B', "\x00\x00\x00\x01\x00\x01\x00\x01\x00\x00\x00\x04\x00\x00\x00\x07\x00\x01\x00\x01")...))
	f.Add(append(wiretest.Frame('D', "S\x00"), append(wiretest.Frame('E', "\x00\x00\x00\x00\x01"), wiretest.Frame('S', "")...)...))
	f.Add(append(wiretest.Frame('C', "P\x00"), wiretest.Frame('H', "")...))
	f.Add(wiretest.Frame('Q', "begin; savepoint a; rollback to a; set local app.branch = 'x'; show all; commit\x00"))
	f.Add(wiretest.Frame('Q', "prepare a as select $1; execute a(1); deallocate all; discard all\x00"))
	f.Add([]byte{'Q', 0xFF, 0xFF, 0xFF, 0xFF})
	f.Add(wiretest.Frame('F', "\x00\x00\x00\x01"))
	f.Fuzz(func(t *testing.T, input []byte) {
		s := aliceSession(t)
		s.answer(input)
		if s.Client.In.Start > s.Client.In.End || s.Client.In.End > len(s.Client.In.Buf) {
			t.Errorf("the input buffer is out of order: %d %d %d", s.Client.In.Start, s.Client.In.End, len(s.Client.In.Buf))
		}
	})
}

// FuzzBind aims at the values of parameters.
func FuzzBind(f *testing.F) {
	f.Add("\x00\x00", "\x00\x00\x00\x03\x00\x00\x00\x01k\xFF\xFF\xFF\xFF\x00\x00\x00\x01t\x00\x00")
	f.Add("\x00\x00", "\x00\x01\x00\x01\x00\x03\x00\x00\x00\x01k\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x13\x88\x00\x00\x00\x01\x01\x00\x01\x00\x01")
	f.Add("\x00\x00", "\x00\x00\x00\x03\xFF\xFF\xFF\xFE")
	f.Fuzz(func(t *testing.T, names, rest string) {
		s := aliceSession(t)
		s.answer(wiretest.Frame('P', "\x00select raisin_lock_acquire($1, $2), $3::bool\x00\x00\x00"))
		s.answer(append(wiretest.Frame('B', names+rest), append(wiretest.Frame('E', "\x00\x00\x00\x00\x00"), wiretest.Frame('S', "")...)...))
	})
}

func BenchmarkStep(b *testing.B) {
	for _, bench := range []struct{ name, sql string }{
		{"select 1", "select 1"},
		{"acquire and release", "select raisin_lock_release('new', (raisin_lock_acquire('new', 5000)).token)"},
		{"refused acquire", "select * from raisin_lock_acquire('held', 5000)"},
		{"claim", "select * from raisin_inventory_claim('pool', 1, 1000000000000)"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			s := aliceSession(b)
			s.answer(wiretest.Frame('Q', "select * from raisin_lock_acquire('held', 300000)\x00"))
			input := wiretest.Frame('Q', bench.sql+"\x00")
			s.answer(input)
			b.ReportAllocs()
			for b.Loop() {
				s.Client.In.Buf = append(s.Client.In.Buf[:0], input...)
				s.Client.In.Start, s.Client.In.End = 0, len(input)
				s.Step()
				s.Client.Out.Buf = s.Client.Out.Buf[:0]
			}
		})
	}
}

// TestOnlyCallsThatWaitAreHandedOver: every other call is made at once, whatever texts of the
// same shape were planned before.
func TestOnlyCallsThatWaitAreHandedOver(t *testing.T) {
	execute := func(wait string) []byte {
		bind := "\x00named\x00\x00\x00\x00\x01\x00\x00\x00" + string(rune(len(wait))) + wait + "\x00\x00"
		return bytes.Join([][]byte{wiretest.Frame('B', bind), wiretest.Frame('E', "\x00\x00\x00\x00\x00"), wiretest.Frame('S', "")}, nil)
	}
	query := func(sql string) []byte { return wiretest.Frame('Q', sql+"\x00") }
	s := aliceSession(t)
	s.answer(append(wiretest.Frame('P', "named\x00select raisin_lock_acquire('held', 5000, $1)\x00\x00\x00"), wiretest.Frame('S', "")...))
	s.answer(query("prepare q(bigint) as select raisin_lock_acquire('held', 5000, $1)"))
	for _, test := range []struct {
		input []byte
		want  drive.Verdict
	}{
		{query("select raisin_lock_acquire('held', 300000)"), NeedInput},
		{query("select raisin_lock_acquire('held', 5000, 0)"), NeedInput},
		{query("select raisin_lock_acquire('held', 5000, 1)"), NeedCall},
		{query("select raisin_lock_acquire('held', 5000, 0)"), NeedInput},
		{query("select raisin_lock_acquire('held', 5000, wait_ms => 2)"), NeedCall},
		{query("select raisin_lock_acquire('held', 5000, wait_ms => 0)"), NeedInput},
		{query("select raisin_lock_acquire('held', 5000, 1 - 1)"), NeedInput},
		{query("select 1; select raisin_lock_acquire('held', 5000, 1)"), NeedCall},
		{query("select raisin_lock_get('held')"), NeedInput},
		{execute("0"), NeedInput},
		{execute("1"), NeedCall},
		{execute("-1"), NeedInput}, // an error
		{query("execute q(1)"), NeedCall},
	} {
		s.Client.In.Append(test.input)
		v := s.Step()
		if v == NeedPlan {
			s.plan()
			v = s.Step()
		}
		if v != test.want {
			t.Errorf("%q: %v, want %v", test.input, v, test.want)
		}
		s.Client.In.Skip(test.input)
		s.Client.In.Buf, s.Client.In.Start, s.Client.In.End = s.Client.In.Buf[:0], 0, 0
		s.Client.Out.Buf, s.planned, s.Skipping = s.Client.Out.Buf[:0], planned{}, false
	}
}
