package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
)

// AdoptOptions say what an operator accepts.
type AdoptOptions struct {
	// Init makes the id record of a name space that has none.
	Init bool
	// AllowCreate lets the next claim create a pool that is missing, with the capacity that it
	// names. Otherwise an operator has to set missing pools first.
	AllowCreate bool
}

// Adopted is a name space that was adopted.
type Adopted struct {
	ID     string
	Before []string // the ids that it had
}

// ExistsError is a name space that was to be made and has an id.
type ExistsError struct{ ID string }

func (e *ExistsError) Error() string {
	return "the namespace has the id " + e.ID + " already: adopt it without --init"
}

// ErrNoID is a name space that was to be adopted and has no id.
var ErrNoID = errors.New("the namespace has no id record: adopt it with --init")

// Adopt accepts the state of a name space as it is: proxies that have stopped their inventory
// go on within a heartbeat. It reads the state file of o, which tells what was there before. It
// fails with an *ExistsError, with ErrNoID, or because of o, Redis or the state file.
func Adopt(ctx context.Context, o Options, a AdoptOptions) (Adopted, error) {
	if err := o.Validate(); err != nil {
		return Adopted{}, err
	}
	o = o.withDefaults()
	state, err := readState(o.StateFile, o.Namespace)
	if err != nil {
		return Adopted{}, err
	}
	s, err := connect(&o, nil)
	if err != nil {
		return Adopted{}, err
	}
	adopted, err := adopt(ctx, s, &o, state.ID, a)
	return adopted, errors.Join(err, s.close())
}

// adopt gives the name space a new id. known is the id that this proxy knows; "" is none.
func adopt(ctx context.Context, s *servers, o *Options, known string, a AdoptOptions) (Adopted, error) {
	id := rand.Text()
	create := a.AllowCreate
	if a.Init && known == "" && !create {
		// Nobody has seen this name space: if it is empty, nothing can be missing from it.
		var err error
		if create, err = s.empty(ctx, o.Namespace); err != nil {
			return Adopted{}, err
		}
	}
	answer, err := s.eval(ctx, adoptScript, idKey(o.Namespace), id, flag(a.Init), known, flag(create))
	if err != nil {
		return Adopted{}, fmt.Errorf("adopt: %w", err)
	}
	switch answer[0] {
	case "EXISTS":
		return Adopted{}, &ExistsError{ID: answer[1]}
	case "NOID":
		return Adopted{}, ErrNoID
	}
	return Adopted{ID: id, Before: strings.Fields(answer[1])}, nil
}
