// Package redis keeps leases and pools in a Redis that several proxies share: one server, a master
// that Sentinels name, or a Redis Cluster; Redis 6.2 or newer, or Valkey.
//
// # Layout
//
//	store.go       Store: Open, Close
//	lock.go        Acquire, Renew, Release
//	inventory.go   Claim, Restock
//	first.go       AcquireFirst; what is read of a lock
//	count.go, list.go  Count; Leases, Pools
//	operator.go    Evict, SetPool, DropPool
//	place.go       the places of pools under a limit
//	ask.go         scripts that need no nonce
//	layout.go      masters, and the slots of a Cluster
//	call.go        one call: its nonce, its copies, what their answers mean
//	queue.go       one call that waits in line for a lock
//	lines.go       the lines that calls of this proxy stand in, and polls
//	offers.go      hearing of locks that are offered to them
//	settle.go      what became of a call whose answer did not arrive
//	lane.go        requests to one server, in pipelines
//	errors.go      what an error says about its request
//	script.go, lua the scripts: each is one operation on one hash
//	key.go         names of keys
//	servertime.go  Redis's clock, and the floor of the tokens
//	known.go       nonces to delete, and the newest state of each pool
//	heartbeat.go, beat.go  looking at Redis once a second, and leaving a beat there
//	watch.go       whether state was lost
//	evidence.go    what a copy of a call rests on
//	sample.go, statefile.go, statelock.go  what is looked at, and remembered
//	adopt.go       the operator accepts what is there
//	seal.go        a name space that serves nobody: what it says, and how it is served again
//	export.go, import.go  moving to and from other stores
//	options.go, target.go, dial.go  configuration and connections
//
// # A call
//
// Every call has a nonce, and every copy of its request carries it. The hash that a script works on
// keeps, in the field '!' + nonce, what the call was answered; a copy that comes later is
// answered the same and changes nothing. Nothing but a reply ends a call that was written:
// without one it is settled, which finds the answer or leaves a tombstone under the nonce, and
// without that it is backend.ErrInDoubt. No copy does anything after its not_after, by
// Redis's clock. Answers that have arrived are deleted along with later calls on the same key.
//
// go-redis must not repeat a request by itself, since a copy that may still be on its way makes
// a difference: see connect.
//
// # Lines
//
// A lock's hash has the line of those who wait for it, see lua/queue.lua. A ticket is the nonce of its call, which asks for
// the lock again, under that nonce, when it is offered to it. So a call that waits has many requests, and still is one
// call: it has the lock once, or is settled. What Redis or a proxy forgets of a line is noticed by polls.
//
// # Time
//
// Only Redis's clock counts. A key lives for its lease and then for the retention, which
// remembers the last token; it has a holder while more than the retention is left. A
// token is above the last one, above Redis's clock in microseconds and above every token and time
// that this proxy has seen. A step of Redis's clock lengthens or shortens leases; tokens rise all the same.
//
// # Lost state
//
// Redis may lose what it has acknowledged: without an AOF at a crash, and with every replica that is
// promoted before it had everything. Connections to a server that is another process or has
// another history than before are refused until the heartbeat has looked at it. If something was
// lost, or that cannot be excluded, inventory stops with backend.ErrStateLost until Adopt. Beside
// that each master has a beat, which tells that its data are there, and each pool a count of
// changes, which the script compares with what the proxy has seen.
// Locks go on, by default after the longest lease: what protects them then is the token.
package redis
