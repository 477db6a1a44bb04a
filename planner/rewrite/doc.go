// Package rewrite plans the statements with calls in which the upstream has a part. All
// their texts are spliced from the user's; values never enter one.
//
//	rewrite.go      Split, the plan: calls, hidden parameters, and the texts Probe, Args
//	                and Main; Rewrite, which makes it step by step
//	site.go         the calls in the text: what exactly is replaced
//	context.go      what stands around them in the parse tree
//	token.go        what stands around them in the text
//	guard.go        the conditions that decide before a call
//	references.go   what a subquery in the place of a call would answer otherwise
//	rows.go         calls for each row of the result
//	write.go        the texts
//	text.go         splicing; from positions in a text back to the user's
//	arguments.go    arguments that need no question to the upstream
//	utility.go      EXPLAIN, COPY and PREPARE
//	views.go        relations by the names of functions that return rows
package rewrite
