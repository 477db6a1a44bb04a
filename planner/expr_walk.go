package planner

// walk visits e and everything below it.
func walk(e expr, visit func(expr)) {
	visit(e)
	for _, o := range e.operands() {
		walk(o, visit)
	}
}

// early says whether PostgreSQL would compute e while it plans (from literals
// and parameters alone) and whether that can fail. Such errors come at Bind,
// before any row description.
func early(e expr) (ok, fallible bool) {
	ok = true
	walk(e, func(e expr) {
		switch e := e.(type) {
		case *callScalar, *callColumn, *valuesColumn, *session:
			ok = false
		case *derived:
			ok = ok && e.early
			fallible = fallible || e.fallible
		case *strict1:
			fallible = fallible || e.fallible
		case *strict2:
			fallible = fallible || e.fallible
		}
	})
	return ok, fallible
}

// usesSession says whether e asks the session for anything but calls.
func usesSession(e expr) (found bool) {
	walk(e, func(e expr) {
		switch e := e.(type) {
		case *session:
			found = true
		case *derived:
			found = found || e.session
		}
	})
	return found
}

// mentionsColumns says whether e reads a column of a FROM item.
func mentionsColumns(e expr) (found bool) {
	walk(e, func(e expr) {
		switch e := e.(type) {
		case *valuesColumn, *derived:
			found = true
		case *callColumn:
			found = found || e.inFrom
		}
	})
	return found
}

// isFalse says whether a condition of literals alone is false.
func isFalse(e expr) bool {
	open := false
	walk(e, func(e expr) {
		k, isConstant := e.(*constant)
		_, isParam := e.(*param)
		open = open || isParam || isConstant && k.slot > 0
	})
	if ok, fallible := early(e); open || !ok || fallible {
		return false
	}
	v, err := e.eval(&exprFrame{})
	return err == nil && !v.Null && !v.Bool()
}
