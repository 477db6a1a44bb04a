package frontend

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"raisinproxy/backend"
	"raisinproxy/pgwire/wire"
	"raisinproxy/pgwire/wiretest"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
)

// TestRowsOfAFailedUnit says which rows are taken back: those of statements of which none has
// been sent.
func TestRowsOfAFailedUnit(t *testing.T) {
	const (
		row  = "D\x00\x00\x00\x06\x00\x00"
		data = "d\x00\x00\x00\x05x"
		bind = "2\x00\x00\x00\x04"
	)
	tag := func(text string) string { return string(wiretest.Frame('C', text+"\x00")) }
	for _, test := range []struct {
		name       string
		statements []string // the answers of each
		sent       int      // so many bytes of all are sent before the failure
		told       string   // y or n for each statement
		left       string
	}{
		{"all held", []string{row + tag("SELECT 1")}, 0, "n", tag("SELECT 0")},
		{"the tag of a command stays", []string{row + tag("INSERT 0 1")}, 0, "n", tag("INSERT 0 1")},
		{"COPY", []string{"H\x00\x00\x00\x07\x00\x00\x00" + data + data}, 0, "n", "H\x00\x00\x00\x07\x00\x00\x00"},
		{"a row is sent", []string{row + row + tag("SELECT 2")}, len(row), "y", row + tag("SELECT 2")},
		{"a part of a row is sent", []string{row}, 3, "y", row[3:]},
		{"a description is no row", []string{bind + row + tag("SELECT 1")}, len(bind), "n", tag("SELECT 0")},
		{"the first is told", []string{row + tag("SELECT 1"), row + tag("SELECT 1")}, len(row), "yn", tag("SELECT 1") + tag("SELECT 0")},
		{"the second is told too", []string{row, row}, len(row) + 1, "yy", row[1:]},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := aliceSession(t)
			s.Handler.(*embedded).State = wire.ImplicitTransaction
			all := ""
			for i, answers := range test.statements {
				s.Unit.begin(int64(len(all)), false)
				s.Client.Out.Buf = append(s.Client.Out.Buf[:0], all[min(len(all), test.sent):]...)
				s.Client.Out.Sent = int64(min(len(all), test.sent))
				noteLock(t, s, fmt.Sprint("k", i))
				all += answers
			}
			s.Client.Out.Buf, s.Client.Out.Sent = []byte(all), 0
			if test.sent > 0 {
				s.Unit.leaving(s.Client.Out.Buf[:test.sent], 0)
				s.Client.Out.Buf, s.Client.Out.Sent = s.Client.Out.Buf[test.sent:], int64(test.sent)
			}
			told := ""
			for _, st := range s.Unit.statements {
				told += map[bool]string{true: "y", false: "n"}[st.told]
			}
			stays := s.UndoUnit()
			if told != test.told || string(s.Client.Out.Buf) != test.left {
				t.Errorf("told %s, left %q; want %s, %q", told, s.Client.Out.Buf, test.told, test.left)
			}
			for i := range test.statements {
				_, free := acquire(t, s, fmt.Sprint("k", i))
				if free == (test.told[i] == 'y') || strings.Contains(stays, fmt.Sprintf("%q", fmt.Sprint("k", i))) == free {
					t.Errorf("lock k%d is free: %v; not undone: %q", i, free, stays)
				}
			}
		})
	}
}

// acquire takes a lock through the session's service, in no statement. ok is false if it is
// held.
func acquire(t *testing.T, s *Session, key string) (e sqlfuncs.Effect, ok bool) {
	t.Helper()
	f, _ := sqlfuncs.Lookup("raisin_lock_acquire")
	args := []datum.Datum{datum.OfText(key), datum.OfInt(1000), datum.OfInt(0)}
	row, err := s.Env.Functions.Call(t.Context(), &s.Caller, f, args, s.notify)
	if err != nil {
		t.Fatal(err)
	}
	return sqlfuncs.EffectOf(&s.Caller, f, args, &row)
}

// noteLock lets the running statement take a lock that is free.
func noteLock(t *testing.T, s *Session, key string) {
	t.Helper()
	e, ok := acquire(t, s, key)
	if !ok {
		t.Fatalf("%s is held", key)
	}
	s.Unit.note(e)
}

// stuck is a store in which nothing can be given back.
type stuck struct {
	backend.Backend
	asked int
	err   error // nil: it does not answer
}

func (b *stuck) Release(ctx context.Context, _ backend.Scope, _ string, _ backend.Proof) (bool, error) {
	b.asked++
	if b.err != nil {
		return false, b.err
	}
	<-ctx.Done()
	return false, ctx.Err()
}

// TestGivingBackIsBounded: a store that does not answer holds a failed statement up for a
// second, and what it keeps is named, up to a number.
func TestGivingBackIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, err := range []error{nil, errors.New("away")} {
			s := aliceSession(t)
			s.Unit.begin(0, false)
			for i := range 25 {
				noteLock(t, s, fmt.Sprintf("k%02d", i))
			}
			store := &stuck{err: err}
			s.Env.Functions = sqlfuncs.NewService(store, sqlfuncs.Options{MaxTTL: time.Minute, MaxWait: time.Minute})
			start := time.Now()
			stays := s.UndoUnit()
			if took := time.Since(start); took > giveBackTime {
				t.Errorf("gave back for %v", took)
			}
			if !strings.HasPrefix(stays, `Not undone: lock "k00" with token `) || !strings.Contains(stays, "k19") ||
				strings.Contains(stays, "k20") || !strings.HasSuffix(stays, "; and 5 more.") {
				t.Errorf("not undone: %q", stays)
			}
			if store.asked != 25 {
				t.Errorf("asked %d times", store.asked)
			}
		}
	})
}

// TestAFinishedUnitIsForgotten: a session keeps nothing of what cannot fail any more.
func TestAFinishedUnitIsForgotten(t *testing.T) {
	s := aliceSession(t)
	many := "select 1" + strings.Repeat(", raisin_inventory_claim('p', 1, 1000)", 100)
	for _, sql := range []string{many, "begin", many, "select raisin_lock_acquire('k', 1000)", "commit"} {
		if out := s.answer(wiretest.Frame('Q', sql+"\x00")); bytes.Contains(out, []byte("SERROR")) {
			t.Fatalf("%s: %q", sql, out)
		}
		if s.Unit.Open() || len(s.Unit.Block) > maxBlockEffects || cap(s.Unit.Effects) > maxKeptEffects {
			t.Errorf("after %.20s: %d effects, room for %d, %d of the block", sql, len(s.Unit.Effects), cap(s.Unit.Effects), len(s.Unit.Block))
		}
	}
	if s.Unit.Block != nil {
		t.Errorf("the block is over and %d of its effects are kept", len(s.Unit.Block))
	}
}
