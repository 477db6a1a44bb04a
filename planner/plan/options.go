package plan

import (
	"slices"

	"raisinproxy/sqlfuncs/datum"
)

// Options are what a plan depends on besides its text.
type Options struct {
	// Prepared: the text may have parameters, of the types that are declared
	// (datum.Invalid where one is left open).
	Prepared bool
	Types    []datum.Type
}

// Equal says whether both lead to the same plans.
func (o Options) Equal(p Options) bool {
	return o.Prepared == p.Prepared && slices.Equal(o.Types, p.Types)
}

// Clone copies o so that it may be kept.
func (o Options) Clone() Options {
	o.Types = slices.Clone(o.Types)
	return o
}
