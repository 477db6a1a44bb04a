package pgwire

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/pgwire/wire"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/pgerr"
)

// This file gives back what the calls of a failed statement took. PostgreSQL undoes all
// that a statement did when it fails; a lease or units in our store stay, unless they are
// given back. What fails as a whole, the unit, is the implicit transaction, or in a block
// the statement.

// unit is what fails as a whole, and what it has done so far.
type unit struct {
	effects    []sqlfuncs.Effect // in the order of the calls
	statements []unitStatement   // that made them
	start      int64             // where the answers of the running statement begin
	resumed    bool              // it has answered with rows before
	running    bool              // it is the last of statements
	// deciding: the end of the transaction went upstream and is not answered, so that
	// nobody knows whether it was committed.
	deciding bool
	// whole: the unit is the whole query, although the upstream is in a block.
	whole bool
	// block is what the finished statements of the open block did.
	block   []sqlfuncs.Effect
	scanned int64 // up to here answers were looked through, on their way out
}

// unitStatement is a statement that made calls. Where its answers stand is counted in the
// bytes for the client since the session began.
type unitStatement struct {
	first    int // of its effects
	from, to int64
	told     bool // the client may have read a row of it
}

// begin says that a statement begins whose first answer will stand at this byte. resumed:
// the client has rows of it.
func (u *unit) begin(at int64, resumed bool) {
	u.endStatement(at)
	u.scanned = min(u.scanned, at) // answers may have been taken back
	u.start, u.resumed, u.deciding = at, resumed, false
}

// endStatement says that what is answered from this byte on is not the last statement's.
func (u *unit) endStatement(at int64) {
	if u.running {
		u.statements[len(u.statements)-1].to = at
		u.running = false
	}
}

// note keeps what a call of the running statement did.
func (u *unit) note(e sqlfuncs.Effect) {
	if !u.running {
		u.statements = append(u.statements, unitStatement{first: len(u.effects), from: u.start, told: u.resumed})
		u.running = true
	}
	u.effects = append(u.effects, e)
}

// open says whether something would have to be given back, or told of, if the unit failed.
func (u *unit) open() bool { return len(u.effects) > 0 }

// took says whether the running statement has taken something.
func (u *unit) took() bool {
	return u.running && slices.ContainsFunc(u.effects[u.statements[len(u.statements)-1].first:], func(e sqlfuncs.Effect) bool { return e.Took() })
}

const (
	// maxKeptEffects bounds the memory that an idle session keeps for its next unit.
	maxKeptEffects = 16
	// maxNamed bounds how many effects an error names.
	maxNamed = 20
	// maxBlockEffects bounds what is remembered of a block, which only an error would name.
	maxBlockEffects = 10 * maxNamed
)

// succeed ends the unit: nothing of it can fail any more. inBlock: what encloses it can.
func (u *unit) succeed(inBlock bool) {
	if inBlock {
		u.block = append(u.block, u.effects[:min(len(u.effects), maxBlockEffects-len(u.block))]...)
	} else {
		u.block = nil
	}
	u.forget()
}

func (u *unit) forget() {
	clear(u.effects)
	u.effects, u.statements = u.effects[:0], u.statements[:0]
	if cap(u.effects) > maxKeptEffects {
		u.effects, u.statements = nil, nil
	}
	u.running, u.deciding = false, false
}

// keep says that what was done so far stays, whatever fails after it.
func (u *unit) keep() {
	for i := range u.statements {
		u.statements[i].told = true
	}
}

// leaving says that these answers, the first of which stands at from, are about to be sent.
func (u *unit) leaving(answers []byte, from int64) {
	end := from + int64(len(answers))
	for i := range u.statements {
		s := &u.statements[i]
		first, last := max(s.from, from, u.scanned), end
		if s.to != 0 {
			last = min(s.to, end)
		}
		if !s.told && first < last {
			s.told = wire.HasRows(answers[first-from : last-from])
		}
	}
	u.scanned = max(u.scanned, end)
}

// beginUnitStatement is to be called before a portal runs.
func (s *session) beginUnitStatement(p *portal) {
	s.endUnitStatement()
	s.unit.begin(s.client.Out.Position(), p.state == portalOpen)
}

// endUnitStatement is to be called when a statement has succeeded. In a block it cannot
// fail any more.
func (s *session) endUnitStatement() {
	if s.txState() == wire.InBlock && !s.unit.whole {
		s.endUnit(true)
	}
}

// endUnit ends the unit, which has succeeded.
func (s *session) endUnit(inBlock bool) {
	took := s.unit.open() || !inBlock && s.unit.block != nil
	s.unit.succeed(inBlock)
	if took {
		s.handler.TellBlock()
	}
}

// giveBackTime bounds the giving back, which a client waits for.
const giveBackTime = time.Second

// inBlock says whether the client has begun a transaction that is not over.
func (s *session) inBlock() bool {
	state := s.txState()
	return state == wire.InBlock || state == wire.FailedBlock
}

// sendAll makes all answers so far due. They count as sent.
func (s *session) sendAll() {
	s.unit.leaving(s.client.Out.Buf, s.client.Out.Sent)
	s.client.Out.Due = true
}

// undoUnit undoes what the failed unit took, the last first, and takes back the rows that
// tell of it. It returns what stays, for the DETAIL of the error: what the client has read
// of, and what cannot be undone. It may wait for the store.
func (s *session) undoUnit() (stays string) {
	u := &s.unit
	if !u.open() {
		u.deciding = false
		return ""
	}
	u.endStatement(s.client.Out.Position())
	s.client.Out.Mend()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.client.Context()), giveBackTime)
	defer cancel()
	kept := make([]bool, len(u.effects))
	for i, st := range slices.Backward(u.statements) {
		end := len(u.effects)
		if i+1 < len(u.statements) {
			end = u.statements[i+1].first
		}
		for j := end - 1; j >= st.first; j-- {
			e := &u.effects[j]
			kept[j] = st.told || !e.Took() || s.undo(ctx, e) != nil
		}
		if !st.told {
			s.client.Out.DropRows(st.from, st.to)
		}
	}
	left := make([]sqlfuncs.Effect, 0, len(kept))
	for j, e := range u.effects {
		if kept[j] {
			left = append(left, e)
		}
	}
	u.forget()
	return describe("Not undone: ", left)
}

func (s *session) undo(ctx context.Context, e *sqlfuncs.Effect) error {
	err := s.env.Functions.Undo(ctx, e)
	if err != nil {
		s.log.Warn("what a failed statement took could not be given back", "error", err)
	}
	return err
}

// describe lists effects, the first of them by name.
func describe(what string, effects []sqlfuncs.Effect) string {
	if len(effects) == 0 {
		return ""
	}
	names := make([]string, 0, maxNamed+1)
	for i := range effects {
		if i == maxNamed {
			names = append(names, "and "+strconv.Itoa(len(effects)-maxNamed)+" more")
			break
		}
		names = append(names, effects[i].String())
	}
	return what + strings.Join(names, "; ") + "."
}

// outcomeUnknown is what a client is told that nobody can tell whether its transaction was
// committed, and so keeps what its calls took.
func (s *session) outcomeUnknown(cause error, took []sqlfuncs.Effect) *pgerr.Error {
	e := pgerr.Fatalf(codes.StatementCompletionUnknown, "the connection to the upstream was lost while it may have committed; what was called is not undone").
		WithDetail("%s", describe("Taken: ", took)).
		WithHint("Look for the rows before you repeat it, and give back what they do not account for.")
	e.Cause = cause
	s.unit.forget()
	return e
}

// withDetail adds a line to the DETAIL of an error.
func withDetail(detail, more string) string {
	if detail == "" || more == "" {
		return detail + more
	}
	return detail + "\n" + more
}

// warnOfLoss warns of a statement that took something and told nobody: with this tag it
// returned no row and changed none.
func (s *session) warnOfLoss(tag string) {
	u := &s.unit
	if !u.took() || u.statements[len(u.statements)-1].told || tag[strings.LastIndexByte(tag, ' ')+1:] != "0" {
		return
	}
	st := u.statements[len(u.statements)-1]
	if s.client.Out.HasRows(st.from) {
		return
	}
	took := slices.DeleteFunc(slices.Clone(u.effects[st.first:]), func(e sqlfuncs.Effect) bool { return !e.Took() })
	s.report(&pgerr.Error{
		Severity: pgerr.SeverityWarning,
		Code:     codes.Warning,
		Message:  "the statement returned no row and changed none, but what its calls took stays taken",
		Detail:   describe("Taken: ", took),
	})
}
