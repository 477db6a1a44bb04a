//go:build !linux

package poll

import "net"

// HungUp cannot tell on this system.
func HungUp(net.Conn) bool { return false }
