package inprocess

import "crypto/rand"

// unknownBoot is an identity that no other process has: leases that it did not
// grant itself get their full time again.
func unknownBoot() string { return "unknown " + rand.Text() }
