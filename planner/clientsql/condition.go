package clientsql

import "slices"

// condition says which types a call wants. Those that take an input are given its
// number, see [Call.input].
type condition func(Call) (func(*pgType) bool, error)

// always is a condition that no input changes.
func always(wanted func(*pgType) bool) condition {
	return func(Call) (func(*pgType) bool, error) { return wanted, nil }
}

// hasOID is WHERE oid = the first input.
func hasOID(c Call) (func(*pgType) bool, error) {
	oid, err := c.oid(0)
	return func(t *pgType) bool { return t.oid == oid }, err
}

// hasName is WHERE typname = the first input.
func hasName(c Call) (func(*pgType) bool, error) {
	name := c.text(0)
	return func(t *pgType) bool { return t.name == name }, nil
}

// inSchema is WHERE nspname = input.
//
//nolint:unparam // the input is an argument, as in its neighbours
func inSchema(input int) condition {
	return func(c Call) (func(*pgType) bool, error) {
		schema := c.text(input)
		return func(t *pgType) bool { return t.namespace == schema }, nil
	}
}

// notInSchema is WHERE nspname != input.
func notInSchema(input int) condition {
	return func(c Call) (func(*pgType) bool, error) {
		schema := c.input(input)[0]
		return func(t *pgType) bool { return !schema.Null && t.namespace != schema.Str }, nil
	}
}

// schemaIsIn is WHERE nspname IN (input).
func schemaIsIn(input int) condition {
	return func(c Call) (func(*pgType) bool, error) {
		names := c.texts(input)
		return func(t *pgType) bool { return slices.Contains(names, t.namespace) }, nil
	}
}

// nameIsIn is WHERE typname IN (input).
func nameIsIn(input int) condition {
	return func(c Call) (func(*pgType) bool, error) {
		names := c.texts(input)
		return func(t *pgType) bool { return slices.Contains(names, t.name) }, nil
	}
}

// kindIsIn is WHERE typtype IN (input).
func kindIsIn(input int) condition {
	return func(c Call) (func(*pgType) bool, error) {
		kinds := c.chars(input)
		return func(t *pgType) bool { return slices.Contains(kinds, t.kind) }, nil
	}
}

// oidIsIn is WHERE oid IN (input).
func oidIsIn(input int) condition {
	return func(c Call) (func(*pgType) bool, error) {
		oids, err := c.oids(input)
		return func(t *pgType) bool { return slices.Contains(oids, t.oid) }, err
	}
}

// elementIsIn is WHERE typelem IN (input).
func elementIsIn(input int) condition {
	return func(c Call) (func(*pgType) bool, error) {
		oids, err := c.oids(input)
		return func(t *pgType) bool { return slices.Contains(oids, t.elem) }, err
	}
}

// and is true where all conditions are.
func and(conditions ...condition) condition {
	return func(c Call) (func(*pgType) bool, error) {
		tests, err := testsOf(c, conditions)
		return func(t *pgType) bool {
			return !slices.ContainsFunc(tests, func(wanted func(*pgType) bool) bool { return !wanted(t) })
		}, err
	}
}

// anyOf is true where one of the conditions is.
func anyOf(conditions ...condition) condition {
	return func(c Call) (func(*pgType) bool, error) {
		tests, err := testsOf(c, conditions)
		return func(t *pgType) bool {
			return slices.ContainsFunc(tests, func(wanted func(*pgType) bool) bool { return wanted(t) })
		}, err
	}
}

func testsOf(c Call, conditions []condition) ([]func(*pgType) bool, error) {
	var out []func(*pgType) bool
	for _, condition := range conditions {
		wanted, err := condition(c)
		if err != nil {
			return nil, err
		}
		out = append(out, wanted)
	}
	return out, nil
}
