// Package inprocess keeps leases and pools in the memory of one process.
//
// Its locks hold among the callers of one Store and nobody else: two processes
// with a Store each do not exclude one another, and both would sell the same
// inventory. What it keeps ends with the process. Fencing tokens rise across
// restarts as far as the wall clock does.
//
// # Layout
//
//	store.go    Store, its options, and how a key finds its shard
//	lease.go    Acquire, Renew, Release
//	pool.go     Claim, Restock
//	shard.go    the records behind one mutex: lookup, insert, remove, shrink
//	expiry.go   the leases of a shard ordered by deadline
//	reaper.go   the goroutine that drops leases which are over
//	token.go    the clock that fencing tokens are taken from
//	clock*.go   the time that leases end by, and the wall clock
//
// # Time
//
// A lease ends on the boot clock, which nobody can step and which goes on while
// the machine sleeps. It is over at deadline <= now for every operation; the
// reaper only gives memory back, so how late it comes changes no answer. The
// wall clock is reported (Grant.ExpiresAt) and feeds the tokens, nothing else.
//
// # Locking
//
// All state of a key is behind the mutex of its shard, and the clock is read
// with that mutex held: operations on one key see time in the order in which
// they take effect, so none of them can act on a lease that an earlier one saw
// over. Nothing blocks or does I/O under the mutex.
package inprocess
