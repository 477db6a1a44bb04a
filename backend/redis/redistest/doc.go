// Package redistest runs real Redis servers for tests: alone, with replicas, under
// a Sentinel, as a Cluster. Each server is a process of its own in a temporary
// folder on a free port of the loopback interface, and can be killed, stopped,
// continued and started again on what it left on disk.
//
// EnvServer chooses another server program. URL finds any Redis, for tests that only talk to one. Start and the others are
// for tests that do something to the server, so they always run their own.
//
//	url.go       which Redis a test gets
//	server.go    one redis-server: start, kill, stop, continue, restart
//	link.go     a network between client and server that misbehaves on demand
//	replica.go   replicas and Sentinels
//	clock.go    a server whose clock can be stepped
//	cluster.go   a Cluster, with or without replicas, and moving its slots
//
// Nothing here skips a test: without a Redis it fails and says how to get one.
package redistest
