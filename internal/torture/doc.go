// Package torture runs clients against proxies while things break, records what the
// clients were told, and has backend/history judge it. Everything goes through the
// wire: the clients are pgconn's, the proxies are processes, which can be killed and
// stopped. It is for tests only.
//
// # Layout
//
//	run.go       Run: rounds of work with a fault in each, then the verdict
//	workload.go  what the clients do with locks and pools
//	client.go    one client: its connection, its calls, what an error tells it
//	recorder.go  the history, and who waits for an answer
//	fault.go     faults of clients and proxies
//	redis.go     faults of a Redis
//	cluster.go   faults of a Redis Cluster
//	loss.go      losses while calls wait, and a second one
//	isolation.go two masters at a time
//	fork.go      how that is judged
//	witness.go   clients of a fault's own, who know for certain what they have to be told
//	proxy.go     a proxy process
//	report.go    what is left of a run that failed
//
// # A round
//
// Clients work for a while; somewhere in it the fault strikes. When all have stopped,
// the run waits until nothing that was left unanswered can take effect any more, and
// reads every key and pool. These reads cut the history into windows.
//
// A seed repeats what the clients do and when the fault strikes, not how the calls
// meet: a failure is looked at in the history that it leaves, not in a second run.
package torture
