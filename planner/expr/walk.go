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

// traits are what is known of an expression without evaluating it.
type traits uint8

const (
	atRun      traits = 1 << iota // not computed while PostgreSQL plans
	fallible                      // computing it can fail
	ofSession                     // it asks the session for anything but calls
	ofColumns                     // it reads a column of a FROM item
	ofParams                      // it has a parameter in it
	ofLiterals                    // it has a literal in it that the plan leaves open
)

func traitsOf(e Expr) (all traits) {
	Walk(e, func(e Expr) {
		switch e := e.(type) {
		case *param:
			all |= ofParams
		case *Constant:
			if e.Slot > 0 {
				all |= ofLiterals
			}
		case *callScalar:
			all |= atRun
		case *callColumn:
			all |= atRun
			if e.inFrom {
				all |= ofColumns
			}
		case *valuesColumn:
			all |= atRun | ofColumns
		case *derived:
			all |= e.inside | ofColumns
		case *session:
			all |= atRun | ofSession
		case *strict1:
			all |= e.traits
		case *strict2:
			all |= e.traits
		}
	})
	return all
}

// Early says whether PostgreSQL would compute e while it plans (from literals
// and parameters alone) and whether that can fail. Such errors come at Bind,
// before any row description.
func Early(e Expr) (ok, fails bool) {
	t := traitsOf(e)
	return t&atRun == 0, t&fallible != 0
}

// UsesSession says whether e asks the session for anything but calls.
func UsesSession(e Expr) bool { return traitsOf(e)&ofSession != 0 }

// MentionsColumns says whether e reads a column of a FROM item.
func MentionsColumns(e Expr) bool { return traitsOf(e)&ofColumns != 0 }

// IsFalse says whether a condition of literals alone is false.
func IsFalse(e Expr) bool {
	if traitsOf(e)&(atRun|fallible|ofParams) != 0 {
		return false
	}
	v, err := e.Eval(&Frame{})
	return err == nil && !v.Null && !v.Bool()
}
