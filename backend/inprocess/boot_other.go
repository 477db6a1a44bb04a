//go:build !linux

package inprocess

// bootID is another one for each process, since Boot counts from its start.
func bootID() string { return unknownBoot() }
