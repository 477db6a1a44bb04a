package planner

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"raisinproxy/planner/catalog"
	"raisinproxy/sqlfuncs/datum"
)

// The casts of pg_cast between built-in types that need not be written, by their OIDs.
// Made by testdata/pg_cast.sql; a test compares it with a real PostgreSQL.
//
//go:embed pg_cast.tsv
var pgCastTSV string

// castContext is castcontext of pg_cast: where a cast is applied that nobody wrote.
type castContext byte

const (
	castImplicit   castContext = 'i' // arguments and operands
	castAssignment castContext = 'a' // only where a value is stored, and for EXECUTE
)

type typePair struct{ from, to datum.Type }

var casts = sync.OnceValue(func() map[typePair]castContext {
	m := map[typePair]castContext{}
	for line := range strings.Lines(pgCastTSV) {
		var pair typePair
		var context byte
		if _, err := fmt.Sscanf(line, "%d\t%d\t%c", &pair.from, &pair.to, &context); err != nil {
			panic(fmt.Sprintf("pg_cast.tsv: %q: %v", line, err))
		}
		m[pair] = castContext(context)
	}
	return m
})

// coerces says whether PostgreSQL turns a value of one built-in type into another by
// itself, for an argument or an operand: can_coerce_type, but for polymorphic types.
func coerces(from, to datum.Type) bool {
	return from == to || from == datum.Unknown || casts()[typePair{from, to}] == castImplicit
}

// assigns says whether it does so for a value that is to be stored. Strings are made of
// anything then.
func assigns(from, to datum.Type) bool {
	_, listed := casts()[typePair{from, to}]
	return listed || coerces(from, to) || to.IsString()
}

// builtin says whether a type is the same in every PostgreSQL. Of any other, such as a
// domain, only the upstream knows what it turns into.
func builtin(t datum.Type) bool {
	_, ok := catalog.TypeDisplay(uint32(t))
	return ok
}

// commonType is the type of a column of VALUES that has values of both: the first, unless
// its values turn into the second and not the other way round (select_common_type). ok is
// false where PostgreSQL refuses, or takes a type of another category.
func commonType(a, b datum.Type) (t datum.Type, ok bool) {
	switch {
	case a == datum.Unknown || a == b:
		return b, true
	case b == datum.Unknown:
		return a, true
	case a == datum.Char || b == datum.Char: // which is of a category of its own
		return 0, false
	case coerces(a, b) && !coerces(b, a):
		return b, true
	}
	return a, coerces(b, a)
}
