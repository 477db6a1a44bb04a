// Package testservers starts servers for tests, and for the programs that measure:
// PostgreSQL, Redis, the proxy, and whatever else is a program of this machine. It knows
// neither package testing nor what the servers are wanted for.
//
//	process.go   a program that runs, and how it ends
//	log.go       what it prints
//	ready.go     asking until a server answers, on a port that nobody else has
//	user.go      who servers run as that refuse root
//	postgres.go  a PostgreSQL with a folder of its own
//	redis.go     a Redis, on what an earlier one left
//	proxy.go     a raisinproxy
//
// Whatever is started here ends with the process that started it, even where that is
// killed. Servers in containers are those of internal/containers.
package testservers
