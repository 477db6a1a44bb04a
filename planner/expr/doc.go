// Package expr has the expressions that the proxy evaluates itself: literals, parameters,
// calls of its functions, a few operators, casts and functions of PostgreSQL's. They get
// their types as PostgreSQL's would, with its errors.
//
// Compiler makes an Expr of a parse tree:
//
//	compile.go    every kind of expression
//	call.go       calls: which function, which argument is which
//	params.go     the types of $1, $2, …
//	column.go     columns of FROM items
//	operator.go   operators
//	builtin.go    functions of PostgreSQL's: now(), current_setting(), …
//	type.go       names of types
//	coerce.go     the casts that nobody writes; cast.go: those that are written
//
// An Expr is evaluated in a Frame, which one execution of a statement has:
//
//	expr.go       the kinds of expressions
//	frame.go      Frame, and the calls, each made once
//	walk.go       what is known of an expression without evaluating it
package expr
