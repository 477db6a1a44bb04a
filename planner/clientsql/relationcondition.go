package clientsql

import (
	"slices"
	"strings"

	"raisinproxy/sqlfuncs/datum"
)

// relationCondition says which relations a call wants, as a condition does of types.
// What is compared with NULL is not wanted.
type relationCondition func(Call) (func(relationRow) bool, error)

// relationsWhere is the Rows of a query for the names of relations.
func relationsWhere(conditions ...relationCondition) func(Call) ([][]datum.Datum, error) {
	where := allOf(conditions...)
	return func(c Call) ([][]datum.Datum, error) {
		wanted, err := where(c)
		if err != nil {
			return nil, err
		}
		return relationNames(func(_ Call, r relationRow) bool { return wanted(r) })(c)
	}
}

// noneUnless is the Rows of a query that a database without relations of the user's
// answers with nothing, and whose answer about the catalogue is not here.
func noneUnless(what string, conditions ...relationCondition) func(Call) ([][]datum.Datum, error) {
	where := allOf(conditions...)
	return func(c Call) ([][]datum.Datum, error) {
		wanted, err := where(c)
		if err == nil && slices.ContainsFunc(relations(), wanted) {
			err = needsUpstream("%s", what)
		}
		return nil, err
	}
}

// allOf is true where all conditions are.
func allOf(conditions ...relationCondition) relationCondition {
	return func(c Call) (func(relationRow) bool, error) {
		var tests []func(relationRow) bool
		for _, condition := range conditions {
			wanted, err := condition(c)
			if err != nil {
				return nil, err
			}
			tests = append(tests, wanted)
		}
		return func(r relationRow) bool {
			return !slices.ContainsFunc(tests, func(wanted func(relationRow) bool) bool { return !wanted(r) })
		}, nil
	}
}

// relationNamed is WHERE relname = input.
func relationNamed(input int) relationCondition {
	return func(c Call) (func(relationRow) bool, error) {
		return func(r relationRow) bool { return r.name == c.text(input) }, nil
	}
}

// relationLike is WHERE relname LIKE input. A pattern with an escape may match anything.
func relationLike(input int) relationCondition {
	return func(c Call) (func(relationRow) bool, error) {
		pattern := c.text(input)
		if strings.Contains(pattern, `\\`) {
			return func(relationRow) bool { return true }, nil
		}
		return func(r relationRow) bool { return like(r.name, pattern) }, nil
	}
}

// like is LIKE with a pattern without escapes, of a text of ASCII.
func like(s, pattern string) bool {
	for i := range len(pattern) {
		if pattern[i] == '%' {
			rest := pattern[i+1:]
			for j := i; j <= len(s); j++ {
				if like(s[j:], rest) {
					return true
				}
			}
			return false
		}
		if i >= len(s) || pattern[i] != '_' && pattern[i] != s[i] {
			return false
		}
	}
	return len(s) == len(pattern)
}

// relationVisible is WHERE pg_table_is_visible.
func relationVisible(Call) (func(relationRow) bool, error) {
	return func(r relationRow) bool { return r.namespace == pgCatalog }, nil
}

// relationInSchema is WHERE nspname = input.
func relationInSchema(input int) relationCondition {
	return func(c Call) (func(relationRow) bool, error) {
		return func(r relationRow) bool { return r.namespace == c.text(input) }, nil
	}
}

// relationNotInSchema is WHERE nspname != input.
func relationNotInSchema(input int) relationCondition {
	return func(c Call) (func(relationRow) bool, error) {
		schema := c.input(input)[0]
		return func(r relationRow) bool { return !schema.Null && r.namespace != schema.Str }, nil
	}
}

// relationOfKinds is WHERE relkind = ANY of the inputs, which are text.
func relationOfKinds(inputs ...int) relationCondition {
	return func(c Call) (func(relationRow) bool, error) {
		var kinds []string
		for _, i := range inputs {
			kinds = append(kinds, c.texts(i)...)
		}
		return ofKinds(kinds)
	}
}

// relationOfKind is WHERE relkind = input, of a type of which CHAR keeps one character.
func relationOfKind(input int, t datum.Type) relationCondition {
	return func(c Call) (func(relationRow) bool, error) { return ofKinds(c.cast(input, t)) }
}

// ofKinds refuses the kinds of which not all relations are known: indexes and what
// is behind large values.
func ofKinds(kinds []string) (func(relationRow) bool, error) {
	for _, kind := range kinds {
		if kind == "i" || kind == "t" {
			return nil, needsUpstream("a list of indexes")
		}
	}
	return func(r relationRow) bool { return slices.Contains(kinds, r.kind) }, nil
}

// relationNotOfPersistence is WHERE relpersistence != input. Every relation here is
// permanent.
func relationNotOfPersistence(input int, t datum.Type) relationCondition {
	return func(c Call) (func(relationRow) bool, error) {
		wanted := !c.input(input)[0].Null && c.cast(input, t)[0] != "p"
		return func(relationRow) bool { return wanted }, nil
	}
}

// cast is an input of type CHAR or VARCHAR.
func (c Call) cast(input int, t datum.Type) []string {
	if t == datum.Bpchar {
		return c.chars(input)
	}
	return c.texts(input)
}
