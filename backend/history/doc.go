// Package history judges what clients of a store of leases and pools were told:
// is there an order of the calls, one at a time and each between its call and its
// return, in which a correct store gives these answers? It knows no client and no
// store; whoever records a history makes Operations of it and calls Check.
//
// # Layout
//
//	operation.go     what is recorded of a call, and how it is printed
//	check.go         Check: everything below, and what it reports
//	window.go        a history in partitions and windows
//	lock.go          the model of a lock
//	pool.go          the model of a pool
//	grants.go        what must hold of the grants of a key whatever the order
//	conservation.go  what must hold of the units of a pool whatever the order
//	census.go        what a history saw: one that saw nothing proves nothing
//
// # Why models with times
//
// Linearizability alone knows before and after, and says nothing about a lease that
// ends by itself. So the models carry bounds on the time of each step: a lease granted
// by a call that ran from 10 to 12 ms for 100 ms ends between 110 and 112 ms, and a
// second grant that returned before 110 ms is wrong. Leases that are long against the
// calls keep those bounds narrow; 50 times as long is a good measure.
//
// The search for an order is porcupine's (Athalye, github.com/anishathalye/porcupine,
// after Lowe, Testing for linearizability, 2016).
package history
