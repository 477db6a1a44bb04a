package sqlfuncs

import (
	"context"
	"errors"
	"fmt"

	"raisinproxy/backend"
	"raisinproxy/sqlfuncs/datum"
)

// Effect is what one call changed in the store. A front end keeps it until the statement
// that made the call can no longer fail, so that a failure leaves nothing taken that
// nobody knows of.
type Effect struct {
	fn    *Function
	scope backend.Scope
	user  string
	name  string // of the key or the pool
	// amount is the token of a lease, or a number of units.
	amount int64
}

// effect describes what a call of a function changes.
type effect struct {
	// column of the row, or else the argument, that says how much; none: it is no number.
	column, arg int
	// nameFrom is the column that has the name; none: the first argument has it.
	nameFrom int
	// undo gives back what was taken; nil: it cannot be.
	undo func(ctx context.Context, b backend.Backend, e *Effect) error
	// describe names it for people.
	describe func(name string, amount int64) string
}

const none = -1

var (
	takesLease      = effect{column: 2, arg: none, nameFrom: none, undo: releaseLease, describe: lease("lock")}
	takesFirstLease = effect{column: 2, arg: none, nameFrom: 1, undo: releaseLease, describe: lease("lock")}
	freesLease      = effect{column: none, arg: 1, nameFrom: none, describe: lease("the release of lock")}
	extendsLease    = effect{column: none, arg: 1, nameFrom: none, describe: lease("the renewal of lock")}
	takesUnits      = effect{column: none, arg: 1, nameFrom: none, undo: restockUnits, describe: units("of")}
	givesUnits      = effect{column: none, arg: 1, nameFrom: none, describe: units("released to")}
	evictsLease     = effect{column: 3, arg: none, nameFrom: none, describe: lease("the release of lock")}
	setsPool        = effect{column: none, arg: 2, nameFrom: none, describe: units("set for")}
	dropsPool       = effect{column: none, arg: none, nameFrom: none, describe: theDropOf}
)

func theDropOf(pool string, _ int64) string { return fmt.Sprintf("the drop of pool %q", pool) }

func lease(what string) func(name string, amount int64) string {
	return func(key string, token int64) string { return fmt.Sprintf("%s %q with token %d", what, key, token) }
}

func units(from string) func(name string, amount int64) string {
	return func(pool string, n int64) string {
		plural := "s"
		if n == 1 {
			plural = ""
		}
		return fmt.Sprintf("%d unit%s %s pool %q", n, plural, from, pool)
	}
}

// EffectOf is what a call did that answered with this row; ok is false if it changed
// nothing. It keeps the name among args.
func EffectOf(c *Caller, f *Function, args []datum.Datum, row *Row) (e Effect, ok bool) {
	if f.Reads() || f.answers() && !row[0].Bool() {
		return Effect{}, false
	}
	e = Effect{fn: f, scope: c.Scope, user: c.User, name: args[0].Str}
	if f.effect.nameFrom != none {
		e.name = row[f.effect.nameFrom].Str
	}
	switch {
	case f.effect.column != none:
		e.amount = row[f.effect.column].Int
	case f.effect.arg != none:
		e.amount = args[f.effect.arg].Int
	}
	return e, true
}

// Took says whether the call took something that can be given back: a lease or units. A
// renewal cannot be undone, since another may have come between, and nor can a release.
func (e *Effect) Took() bool { return e.fn.effect.undo != nil }

// String names what was changed, for a person.
func (e *Effect) String() string { return e.fn.effect.describe(e.name, e.amount) }

var errNotUndoable = errors.New("this effect cannot be undone")

// Undo gives back what a call took. A lease that is over by then is none any more. After
// an error it may be there still. It is safe for concurrent use, and repeats nothing.
func (s *Service) Undo(ctx context.Context, e *Effect) error {
	if !e.Took() {
		return errNotUndoable
	}
	return e.fn.effect.undo(ctx, s.backend, e)
}

func releaseLease(ctx context.Context, b backend.Backend, e *Effect) error {
	_, err := b.Release(ctx, e.scope, e.name, backend.Proof{Token: e.amount, User: e.user})
	return err
}

func restockUnits(ctx context.Context, b backend.Backend, e *Effect) error {
	_, err := b.Restock(ctx, e.scope, e.name, e.amount)
	return err
}
