package expr

// Walk visits e and everything below it.
func Walk(e Expr, visit func(Expr)) {
	visit(e)
	for _, o := range e.operands() {
		Walk(o, visit)
	}
}

// AllTrue says whether conditions are all true.
func AllTrue(conditions []Expr, f *Frame) (bool, error) {
	for _, e := range conditions {
		v, err := e.Eval(f)
		if err != nil || v.Null || !v.Bool() {
			return false, err
		}
	}
	return true, nil
}

// Early says whether PostgreSQL would compute e while it plans (from literals
// and parameters alone) and whether that can fail. Such errors come at Bind,
// before any row description.
func Early(e Expr) (ok, fallible bool) {
	ok = true
	Walk(e, func(e Expr) {
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

// UsesSession says whether e asks the session for anything but calls.
func UsesSession(e Expr) (found bool) {
	Walk(e, func(e Expr) {
		switch e := e.(type) {
		case *session:
			found = true
		case *derived:
			found = found || e.session
		}
	})
	return found
}

// MentionsColumns says whether e reads a column of a FROM item.
func MentionsColumns(e Expr) (found bool) {
	Walk(e, func(e Expr) {
		switch e := e.(type) {
		case *valuesColumn, *derived:
			found = true
		case *callColumn:
			found = found || e.inFrom
		}
	})
	return found
}

// IsFalse says whether a condition of literals alone is false.
func IsFalse(e Expr) bool {
	open := false
	Walk(e, func(e Expr) {
		k, isConstant := e.(*Constant)
		_, isParam := e.(*param)
		open = open || isParam || isConstant && k.Slot > 0
	})
	if ok, fallible := Early(e); open || !ok || fallible {
		return false
	}
	v, err := e.Eval(&Frame{})
	return err == nil && !v.Null && !v.Bool()
}
