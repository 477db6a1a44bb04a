package planner

import (
	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// paramTypes are the types of $1, $2, …: declared by the client, or decided by
// the first context that needs one, as PostgreSQL's parser decides them.
type paramTypes struct {
	types []datum.Type // Unknown: not decided yet
	fixed bool         // a simple query has no parameters at all
	// beyond: there is a reference to a number that no client can bind.
	beyond bool
}

func newParamTypes(declared []datum.Type) *paramTypes {
	p := &paramTypes{types: make([]datum.Type, len(declared))}
	for i, t := range declared {
		p.types[i] = t
		if t == datum.Invalid {
			p.types[i] = datum.Unknown
		}
	}
	return p
}

// ref makes a reference to $number.
func (p *paramTypes) ref(number int32, pos int32) (*param, *pgerr.Error) {
	if number < 1 || p.fixed {
		return nil, pgerr.Newf(codes.UndefinedParameter, "there is no parameter $%d", number)
	}
	if number > maxParams {
		p.beyond = true
		return &param{number: int(number), t: datum.Unknown, pos: pos}, nil
	}
	for len(p.types) < int(number) {
		p.types = append(p.types, datum.Unknown)
	}
	return &param{number: int(number), t: p.types[number-1], pos: pos}, nil
}

// decide gives an undecided reference its type.
func (p *paramTypes) decide(e *param, t datum.Type) *pgerr.Error {
	if e.number > maxParams {
		e.t = t
		return nil
	}
	known := &p.types[e.number-1]
	if *known != datum.Unknown && *known != t {
		return pgerr.Newf(codes.AmbiguousParameter, "inconsistent types deduced for parameter $%d", e.number).
			WithDetail("%s versus %s", displayName(*known), displayName(t))
	}
	*known, e.t = t, t
	return nil
}

// check refuses parameters whose type nothing decided.
func (p *paramTypes) check() *pgerr.Error {
	for i, t := range p.types {
		if t == datum.Unknown {
			return undetermined(i + 1)
		}
	}
	if p.beyond { // not all of the parameters before it can be referred to as well
		return undetermined(len(p.types) + 1)
	}
	return nil
}

func undetermined(number int) *pgerr.Error {
	return pgerr.Newf(codes.IndeterminateDatatype, "could not determine data type of parameter $%d", number)
}

func (c *exprCompiler) decideParam(e *param, t datum.Type) *pgerr.Error {
	if err := c.params.decide(e, t); err != nil {
		return err.At(c.at(e.pos))
	}
	return nil
}
