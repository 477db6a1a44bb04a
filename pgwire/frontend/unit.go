package frontend

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
// that a statement did when it fails; a lease or units in the store stay, unless they are
// given back. What fails as a whole, the unit, is the implicit transaction, or in a block
// the statement.

// unit is what fails as a whole, and what it has done so far.
type unit struct {
	Effects    []sqlfuncs.Effect // in the order of the calls
	statements []unitStatement   // that made them
	start      int64             // where the answers of the running statement begin
	resumed    bool              // it has answered with rows before
	running    bool              // it is the last of statements
	// Deciding: the end of the transaction went upstream and is not answered, so that
	// nobody knows whether it was committed.
	Deciding bool
	// Whole: the unit is the whole query, although the upstream is in a block.
	Whole bool
	// Block is what the finished statements of the open block did.
	Block   []sqlfuncs.Effect
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
	u.EndStatement(at)
	u.scanned = min(u.scanned, at) // answers may have been taken back
	u.start, u.resumed, u.Deciding = at, resumed, false
}

// EndStatement says that what is answered from this byte on is not the last statement's.
func (u *unit) EndStatement(at int64) {
	if u.running {
		u.statements[len(u.statements)-1].to = at
		u.running = false
	}
}

// note keeps what a call of the running statement did.
func (u *unit) note(e sqlfuncs.Effect) {
	if !u.running {
		u.statements = append(u.statements, unitStatement{first: len(u.Effects), from: u.start, told: u.resumed})
		u.running = true
	}
	u.Effects = append(u.Effects, e)
}

// Open says whether something would have to be given back, or told of, if the unit failed.
func (u *unit) Open() bool { return len(u.Effects) > 0 }

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
		u.Block = append(u.Block, u.Effects[:min(len(u.Effects), maxBlockEffects-len(u.Block))]...)
	} else {
		u.Block = nil
	}
	u.forget()
}

func (u *unit) forget() {
	clear(u.Effects)
	u.Effects, u.statements = u.Effects[:0], u.statements[:0]
	if cap(u.Effects) > maxKeptEffects {
		u.Effects, u.statements = nil, nil
	}
	u.running, u.Deciding = false, false
}

// Keep says that what was done so far stays, whatever fails after it.
func (u *unit) Keep() {
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

// EndUnitStatement is to be called when a statement has succeeded. In a block it cannot
// fail any more.
func (s *Session) EndUnitStatement() {
	if s.TxState() == wire.InBlock && !s.Unit.Whole {
		s.EndUnit(true)
	}
}

// EndUnit ends the unit, which has succeeded.
func (s *Session) EndUnit(inBlock bool) {
	took := s.Unit.Open() || !inBlock && s.Unit.Block != nil
	s.Unit.succeed(inBlock)
	if took {
		s.Handler.TellBlock()
	}
}

// giveBackTime bounds the giving back, which a client waits for.
const giveBackTime = time.Second

// inBlock says whether the client has begun a transaction that is not over.
func (s *Session) inBlock() bool {
	state := s.TxState()
	return state == wire.InBlock || state == wire.FailedBlock
}

// SendAll makes all answers so far due. They count as sent.
func (s *Session) SendAll() {
	s.Unit.leaving(s.Client.Out.Buf, s.Client.Out.Sent)
	s.Client.Out.Due = true
}

// UndoUnit undoes what the failed unit took, the last first, and takes back the rows that
// tell of it. It returns what stays, for the DETAIL of the error: what the client has read
// of, and what cannot be undone. It may wait for the store.
func (s *Session) UndoUnit() (stays string) {
	u := &s.Unit
	if !u.Open() {
		u.Deciding = false
		return ""
	}
	u.EndStatement(s.Client.Out.Position())
	s.Client.Out.Mend()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.Client.Context()), giveBackTime)
	defer cancel()
	var left []sqlfuncs.Effect
	end := len(u.Effects)
	for _, st := range slices.Backward(u.statements) {
		for _, e := range slices.Backward(u.Effects[st.first:end]) {
			if st.told || !e.Took() || s.undo(ctx, &e) != nil {
				left = append(left, e)
			}
		}
		if !st.told {
			s.Client.Out.DropRows(st.from, st.to)
		}
		end = st.first
	}
	slices.Reverse(left)
	u.forget()
	return Describe("Not undone: ", left)
}

func (s *Session) undo(ctx context.Context, e *sqlfuncs.Effect) error {
	err := s.Env.Functions.Undo(ctx, e)
	if err != nil {
		s.Log.Warn("what a failed statement took could not be given back", "error", err)
	}
	return err
}

// Describe lists effects, the first of them by name.
func Describe(what string, effects []sqlfuncs.Effect) string {
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

// OutcomeUnknown is what a client is told that nobody can tell whether its transaction was
// committed, and so keeps what its calls took.
func (s *Session) OutcomeUnknown(cause error, took []sqlfuncs.Effect) *pgerr.Error {
	e := pgerr.Fatalf(codes.StatementCompletionUnknown, "the connection to the upstream was lost while it may have committed; what was called is not undone").
		WithDetail("%s", Describe("Taken: ", took)).
		WithHint("Look for the rows before you repeat it, and give back what they do not account for.")
	e.Cause = cause
	s.Unit.forget()
	return e
}

// WithDetail adds a line to the DETAIL of an error.
func WithDetail(detail, more string) string {
	if detail == "" || more == "" {
		return detail + more
	}
	return detail + "\n" + more
}

// WarnOfLoss warns of a statement that took something and told nobody: with this tag it
// returned no row and changed none.
func (s *Session) WarnOfLoss(tag string) {
	u := &s.Unit
	if !u.running || tag[strings.LastIndexByte(tag, ' ')+1:] != "0" {
		return
	}
	st := u.statements[len(u.statements)-1]
	took := slices.DeleteFunc(slices.Clone(u.Effects[st.first:]), func(e sqlfuncs.Effect) bool { return !e.Took() })
	if len(took) == 0 || st.told || s.Client.Out.HasRows(st.from) {
		return
	}
	s.Report(&pgerr.Error{
		Severity: pgerr.SeverityWarning,
		Code:     codes.Warning,
		Message:  "the statement returned no row and changed none, but what its calls took stays taken",
		Detail:   Describe("Taken: ", took),
	})
}
