package sqlfuncs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/backend"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// Anonymous is the user name of callers without one. It may hold no lock, even
// with a valid password, since nobody could be asked to give it back.
const Anonymous = "anonymous"

// Caller is who calls, and in which name space.
type Caller struct {
	// User is the name that the front end's authentication established; empty if
	// it could not establish any.
	User  string
	Scope backend.Scope
}

// Named says whether the caller may take or free anything.
func (c *Caller) Named() bool { return c.User != "" && c.User != Anonymous }

// Service evaluates calls. It is safe for concurrent use.
type Service struct {
	backend backend.Backend // nil: the locks subsystem is disabled
	options Options
	counts  counts
}

// Options of a Service.
type Options struct {
	// MaxTTL and MaxWait are the longest lease and the longest wait in line. What is longer is
	// capped, with a notice.
	MaxTTL, MaxWait time.Duration
	// MaxKeys is how many keys one call may name; 0: any number.
	MaxKeys int
	// Administrators may call the functions that are for them.
	Administrators []string
	// Log is told what administrators do; nil: nobody is.
	Log *slog.Logger
}

// NewService makes a service on b, or one that refuses every call if b is nil.
func NewService(b backend.Backend, o Options) *Service {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Service{backend: b, options: o}
}

// Immediate says whether calls that do not wait in line answer without waiting for
// anything outside this process, so that an event loop may evaluate them inline.
func (s *Service) Immediate() bool {
	if s.backend == nil {
		return true
	}
	told, ok := s.backend.(interface{ Immediate() bool })
	return ok && told.Immediate()
}

// Authorize says who may call a function. That comes before any value or state is looked
// at. Call repeats it; a front end asks earlier when it can answer earlier.
func (s *Service) Authorize(c *Caller, f *Function) error {
	switch {
	case !c.Named():
		return pgerr.Newf(codes.InsufficientPrivilege, "%s requires an authenticated, non-anonymous user", f.Name)
	case f.Admin && !s.administers(c):
		return pgerr.Newf(codes.InsufficientPrivilege, "%s requires an administrator", f.Name).
			WithHint("Administrators are the admin_users in [auth] of the server config.")
	}
	return nil
}

// administers says whether a caller is an administrator.
func (s *Service) administers(c *Caller) bool {
	return c.Named() && slices.Contains(s.options.Administrators, c.User)
}

// Call evaluates one call and returns its row; f is no Set. Args are as declared: their count
// and types have been resolved. notice receives at most one notice for each argument,
// which are to be delivered whether or not the call succeeds.
//
// The error is a *pgerr.Error. If ctx ends, its cause is returned when it is one
// too and nothing was applied.
func (s *Service) Call(ctx context.Context, c *Caller, f *Function, args []datum.Datum, notice func(*pgerr.Error)) (Row, error) {
	var row Row
	if err := s.CallInto(ctx, &row, c, f, args, notice); err != nil {
		return Row{}, err
	}
	return row, nil
}

// CallInto is Call for a row that the caller has room for: copying one takes longer than some calls. The fields of columns that
// the function does not have stay as they are, and after an error it holds nothing of use.
func (s *Service) CallInto(ctx context.Context, row *Row, c *Caller, f *Function, args []datum.Datum, notice func(*pgerr.Error)) error {
	if err := s.mayCall(c, f, args); err != nil {
		s.counts.note(f, failed)
		return err
	}
	if f.MayWait(args) {
		s.counts.waiting.Add(1)
		defer s.counts.waiting.Add(-1)
	}
	err := f.eval(ctx, call{service: s, fn: f, caller: c, args: args, notice: notice, row: row})
	s.counts.note(f, outcomeOf(f, row, err))
	if err != nil {
		return translate(ctx, f, args, err)
	}
	return nil
}

// Rows evaluates one call of a Set and returns all of its rows. Everything else is as for Call.
func (s *Service) Rows(ctx context.Context, c *Caller, f *Function, args []datum.Datum, notice func(*pgerr.Error)) ([]Row, error) {
	if err := s.mayCall(c, f, args); err != nil {
		s.counts.note(f, failed)
		return nil, err
	}
	rows, err := f.list(ctx, call{service: s, fn: f, caller: c, args: args, notice: notice})
	s.counts.note(f, outcomeOf(f, nil, err))
	if err != nil {
		return nil, translate(ctx, f, args, err)
	}
	return rows, nil
}

// mayCall refuses a call before it reaches the backend.
func (s *Service) mayCall(c *Caller, f *Function, args []datum.Datum) error {
	if err := s.Authorize(c, f); err != nil {
		return err
	}
	if s.backend == nil {
		return pgerr.Newf(codes.ObjectNotInPrerequisiteState, "Locks subsystem disabled. Enable [locks] in server config.")
	}
	for i := range f.Args {
		if err := f.checkArg(&f.Args[i], args[i]); err != nil {
			return err
		}
	}
	return nil
}

func (f *Function) checkArg(a *Arg, v datum.Datum) error {
	switch {
	case v.Null:
		return pgerr.Newf(codes.NullValueNotAllowed, "%s: argument \"%s\" must not be null", f.Name, a.Name)
	case a.Type == datum.Text && v.Str == "" && !a.mayBeEmpty:
		return pgerr.Newf(codes.InvalidParameterValue, "%s: argument \"%s\" must not be empty", f.Name, a.Name)
	case a.Type == datum.Text && len(v.Str) > backend.MaxNameBytes:
		return pgerr.Newf(codes.StringDataRightTruncation, "%s: argument \"%s\" is longer than %d bytes", f.Name, a.Name, backend.MaxNameBytes)
	case a.Type == datum.Int8 && v.Int < a.Min:
		return pgerr.Newf(codes.InvalidParameterValue, "%s: argument \"%s\" must be at least %d", f.Name, a.Name, a.Min)
	case a.Type == datum.Int8 && v.Int > a.Max:
		return pgerr.Newf(codes.InvalidParameterValue, "%s: argument \"%s\" must be at most %d", f.Name, a.Name, a.Max)
	}
	return nil
}

// MayWait says whether a call with these arguments may wait in line.
func (f *Function) MayWait(args []datum.Datum) bool {
	for i := range f.Args {
		if f.Args[i].MayWait(args[i]) {
			return true
		}
	}
	return false
}

// call is what the evaluation of one call sees.
type call struct {
	service *Service
	fn      *Function
	caller  *Caller
	args    []datum.Datum
	notice  func(*pgerr.Error)
	row     *Row // of the answer
}

// tell is the answer.
func (c call) tell(columns ...datum.Datum) error {
	copy(c.row[:], columns)
	return nil
}

// capped reads a number of milliseconds, which must not be above a limit: that is [locks]
// max_ and the argument's name.
func (c call) capped(arg int, name string, most time.Duration) time.Duration {
	ms := c.args[arg].Int
	limit := most.Milliseconds()
	if ms > limit {
		c.notice(&pgerr.Error{
			Severity: pgerr.SeverityNotice,
			Code:     codes.SuccessfulCompletion,
			Message:  fmt.Sprintf("%s is above the limit of this server and was capped to %d", name, limit),
			Hint:     fmt.Sprintf("The limit is max_%s in [locks] of the server config.", name),
		})
		ms = limit
	}
	return time.Duration(ms) * time.Millisecond
}

// translate says what a backend's error means to an SQL client. Whatever is not
// known to have left everything unchanged is reported as in doubt.
func translate(ctx context.Context, f *Function, args []datum.Datum, err error) error {
	fail := func(e *pgerr.Error) error {
		e.Cause = err
		return e
	}
	if told, ok := errors.AsType[*pgerr.Error](err); ok {
		return told
	}
	if value, ok := errors.AsType[*backend.PoolValueError](err); ok {
		return fail(pgerr.Newf(codes.ObjectNotInPrerequisiteState, "pool \"%s\" has the value \"%s\", which is no count of units", value.Pool, value.Value).
			WithHint("An administrator can set it by raisin_admin_inventory_set."))
	}
	if value, ok := errors.AsType[*backend.LockValueError](err); ok {
		return fail(pgerr.Newf(codes.ObjectNotInPrerequisiteState, "lock \"%s\" has \"%s\", which is no lease that was granted", value.Key, value.Value).
			WithHint("An administrator can free it by raisin_admin_lock_release."))
	}
	switch {
	case errors.Is(err, backend.ErrInDoubt):
		return fail(inDoubt(f))
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return endOf(ctx, err)
	case errors.Is(err, backend.ErrNoPool):
		return fail(pgerr.Newf(codes.UndefinedObject, "pool \"%s\" does not exist", args[0].Str).
			WithHint("The first raisin_inventory_claim on a pool creates it."))
	case errors.Is(err, backend.ErrTooManyPools):
		return fail(pgerr.Newf(codes.ConfigurationLimitExceeded, "pool \"%s\" was not made: there are as many pools as one tenant may have", args[0].Str).
			WithHint("The limit is max_pools_per_tenant in [locks] of the server config."))
	case errors.Is(err, backend.ErrTooManyLeases):
		return fail(pgerr.Newf(codes.ConfigurationLimitExceeded, "lock \"%s\" was not taken: the user has as many locks as one user may have", args[0].Str).
			WithHint("The limit is max_leases_per_user in [locks] of the server config."))
	case errors.Is(err, backend.ErrTooManyWaiters):
		return fail(pgerr.Newf(codes.InsufficientResources, "too many sessions wait for lock \"%s\"", args[0].Str).
			WithHint("The limit is max_waiters_per_key in [locks] of the server config."))
	case errors.Is(err, backend.ErrTooManyRows):
		return fail(pgerr.Newf(codes.ProgramLimitExceeded, "%s: there are more rows than max_rows, which is %d", f.Name, args[f.ArgIndex("max_rows")].Int).
			WithHint("Name a longer prefix, or a larger max_rows."))
	case errors.Is(err, backend.ErrCountOverflow):
		return fail(pgerr.Newf(codes.NumericValueOutOfRange, "remaining units of pool \"%s\" would pass %d", args[0].Str, math.MaxInt64))
	case errors.Is(err, backend.ErrPaused):
		return fail(pgerr.Newf(codes.System, "%s: locks are paused, since leases that the lock backend does not know of may run; nothing was changed", f.Name).
			WithHint("Locks are granted again when the longest lease is over; see the server's log."))
	case errors.Is(err, backend.ErrUnavailable):
		return fail(pgerr.Newf(codes.System, "%s: the lock backend is unavailable; nothing was changed", f.Name).
			WithHint("The call may be repeated."))
	case errors.Is(err, backend.ErrOutOfResources):
		return fail(pgerr.Newf(codes.InsufficientResources, "%s: the lock backend is out of resources; nothing was changed", f.Name))
	case errors.Is(err, backend.ErrUnwritable):
		return fail(pgerr.Newf(codes.Io, "%s: the lock store can no longer be written", f.Name).
			WithHint("It must be reopened; see the server's log."))
	case errors.Is(err, backend.ErrPoolMissing):
		return fail(pgerr.Newf(codes.ObjectNotInPrerequisiteState, "pool \"%s\" is missing since the backend lost its state", args[0].Str).
			WithHint("An administrator can set it by raisin_admin_inventory_set, or an operator run \"raisinproxy adopt --allow-create\"."))
	case errors.Is(err, backend.ErrStateLost):
		return fail(pgerr.Newf(codes.ObjectNotInPrerequisiteState, "%s: the lock backend lost acknowledged state", f.Name).
			WithHint("An operator must look at it and run \"raisinproxy adopt\"."))
	case errors.Is(err, backend.ErrMoved):
		return fail(pgerr.Newf(codes.ObjectNotInPrerequisiteState, "%s: the pools and leases of this server were moved to another store; nothing was changed", f.Name).
			WithHint("Connect to a server that has them. An operator can undo an export by \"raisinproxy reopen\"."))
	case errors.Is(err, backend.ErrTokensExhausted):
		return fail(pgerr.Newf(codes.ObjectNotInPrerequisiteState, "%s: fencing tokens are exhausted", f.Name).
			WithHint("The clock of the lock backend is far in the future."))
	}
	return fail(inDoubt(f))
}

func inDoubt(f *Function) *pgerr.Error {
	return pgerr.Newf(codes.StatementCompletionUnknown, "%s: the outcome is unknown; the call may have been applied", f.Name).
		WithHint("Read the state again before you repeat the call.")
}

// endOf reports a call that ended with its context and applied nothing: by the
// cause, which says whether it was a cancel or a timeout.
func endOf(ctx context.Context, err error) error {
	if cause, ok := errors.AsType[*pgerr.Error](context.Cause(ctx)); ok {
		return cause
	}
	e := pgerr.Newf(codes.QueryCanceled, "canceling statement due to user request")
	e.Cause = err
	return e
}
