package frontend

import "raisinproxy/planner/plan"

// objects are what a session keeps under names: prepared statements and portals.
type objects struct {
	Statements map[string]*plan.Statement // named ones
	Unnamed    *plan.Statement
	Portals    map[string]*Portal // named ones
	// statementBytes and portalBytes are what these take.
	statementBytes, portalBytes int
	// The unnamed portal and the one of simple queries keep their memory.
	UnnamedPortal, Simple Portal
}
