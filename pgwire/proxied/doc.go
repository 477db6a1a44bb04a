// Package proxied is what a session does with a PostgreSQL behind it: what of a client's messages is answered here and
// what goes on as it is, in which order, and how statements run that both sides have a part in.
//
//	proxied.go        the handler, and the transaction status that it owns
//	upstream.go       greeting clients as the upstream does, and giving it up; opening.go, opening it in time, and in
//	                  which scope; attach.go, forwarding by an event loop
//	route.go          what of a client's messages is answered here; route_text.go, which texts are
//	turn.go           when an answer has its turn; taken.go, names in use on either side
//	callsettings.go   settings of the session there that a call depends on (branch, statement_timeout, …), asked for
//	deferredbegin.go  BEGIN while the upstream is not open
//	heldpipeline.go   a pipeline in which calls have taken something; commit.go, a COMMIT that fails then; procedures.go,
//	                  what may have committed amid it
//	long.go           messages that pass while they arrive
//	pendingcloses.go  portals left open there: the list of them is upstream.Conversation's, here is when it must be sent
//	split.go          statements that both have a part in; splitrows.go, their rows; placefacts.go, whether what
//	                  their plans rest on (place.Fact) is so; probe.go, what they mean; prepare.go, SQL's PREPARE and EXECUTE of them
//	batch.go          several statements in one query; reported.go, what they changed
//	listener.go       the session as a Conversation sees it; pipeline.go, pipelines that the proxy opened
//	copyin.go         data of a COPY that begins amid what the proxy says itself; else route.go relays it
package proxied
