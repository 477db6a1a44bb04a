package expr

import (
	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/planner/plan"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// Params are the types of $1, $2, …: declared by the client, or decided by
// the first context that needs one, as PostgreSQL's parser decides them.
type Params struct {
	Types []datum.Type // Unknown: not decided yet
	Fixed bool         // a simple query has no parameters at all
	// beyond: there is a reference to a number that no client can bind.
	beyond bool
}

// NewParams are parameters with the types that were declared, datum.Invalid where one was
// left open.
func NewParams(declared []datum.Type) *Params {
	p := &Params{Types: make([]datum.Type, len(declared))}
	for i, t := range declared {
		p.Types[i] = t
		if t == datum.Invalid {
			p.Types[i] = datum.Unknown
		}
	}
	return p
}

// ref makes a reference to $number.
func (p *Params) ref(number int32, pos int32) (*param, *pgerr.Error) {
	if number < 1 || p.Fixed {
		return nil, pgerr.Newf(codes.UndefinedParameter, "there is no parameter $%d", number)
	}
	if number > plan.MaxParams {
		p.beyond = true
		return &param{number: int(number), t: datum.Unknown, pos: pos}, nil
	}
	for len(p.Types) < int(number) {
		p.Types = append(p.Types, datum.Unknown)
	}
	return &param{number: int(number), t: p.Types[number-1], pos: pos}, nil
}

// decide gives an undecided reference its type.
func (p *Params) decide(e *param, t datum.Type) *pgerr.Error {
	if e.number > plan.MaxParams {
		e.t = t
		return nil
	}
	known := &p.Types[e.number-1]
	if *known != datum.Unknown && *known != t {
		return pgerr.Newf(codes.AmbiguousParameter, "inconsistent types deduced for parameter $%d", e.number).
			WithDetail("%s versus %s", DisplayName(*known), DisplayName(t))
	}
	*known, e.t = t, t
	return nil
}

// Check refuses parameters whose type nothing decided.
func (p *Params) Check() *pgerr.Error {
	for i, t := range p.Types {
		if t == datum.Unknown {
			return undetermined(i + 1)
		}
	}
	if p.beyond { // not all of the parameters before it can be referred to as well
		return undetermined(len(p.Types) + 1)
	}
	return nil
}

func undetermined(number int) *pgerr.Error {
	return pgerr.Newf(codes.IndeterminateDatatype, "could not determine data type of parameter $%d", number)
}

func (c *Compiler) decideParam(e *param, t datum.Type) *pgerr.Error {
	if err := c.Params.decide(e, t); err != nil {
		return err.At(c.At(e.pos))
	}
	return nil
}
