// Package inprocess keeps leases and pools in the memory of one process, and if
// the store is a durable one on its disk too.
//
// Its locks hold among the callers of one Store and nobody else: two processes
// with a Store each do not exclude one another, and both would sell the same
// inventory. New makes a store that ends with the process; its fencing tokens
// rise across restarts as far as the wall clock does. Open makes one that goes
// on after a restart or a crash with all that it acknowledged.
//
// # Layout
//
//	store.go    Store, its options, and how a key finds its shard
//	lease.go    Acquire, Renew, Release
//	queue.go    who stands in line for a lock; user.go, how many leases each user has
//	pool.go     Claim, Restock
//	look.go     what is seen of a lock and a pool; list.go, of all of them
//	operator.go Evict, SetPool, DropPool
//	shard.go    the records behind one mutex: lookup, insert, remove, shrink
//	expiry.go   the leases of a shard ordered by deadline
//	reaper.go   the goroutine that drops leases which are over
//	tenants.go  how many pools each tenant has, and may have
//	token.go    the clock that fencing tokens are taken from
//	clock*.go   the time that leases end by, and the wall clock
//
// and of a durable store:
//
//	open.go      Open, and what it refuses
//	recovery.go  what is on disk, taken into memory
//	compact.go   what was erased, taken off the disk
//	journal.go   changes on their way to disk, in groups; answers that wait for them
//	record.go    what stands on disk
//	folder.go    the data folder: its lock, and whether it is whole
//	ledger*.go   what was synced, below pebble, which does not notice all damage
//	repair.go    what can be read of a damaged store
//	backup.go    a copy of a store, while it is used
//	backuptarget.go  the folder that the copy goes to
//	pause.go     nothing is granted while unknown leases may run
//	seal.go      a store whose records are, or may be, in another one
//	export.go, import.go  moving to and from other stores
//	inode*.go    whether the folder is still where it was
//	failstop.go  the disk below pebble, which fails once and then for good
//	pebble.go    the options of the store on disk
//	boot*.go     what the boot clock counts from
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
// over. Nothing blocks or does I/O under the mutex: a durable store only notes
// there what is to be written, and waits for it without.
package inprocess
