package pgwire

import "raisinproxy/planner/plan"

// objects are what a session keeps under names: prepared statements and portals.
type objects struct {
	statements map[string]*plan.Statement // named ones
	unnamed    *plan.Statement
	portals    map[string]*portal // named ones
	// statementBytes and portalBytes are what these take.
	statementBytes, portalBytes int
	// The unnamed portal and the one of simple queries keep their memory.
	unnamedPortal, simple portal
}

func newObjects() objects {
	return objects{statements: map[string]*plan.Statement{}, portals: map[string]*portal{}}
}
