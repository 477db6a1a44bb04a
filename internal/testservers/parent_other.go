//go:build !linux

package testservers

import "syscall"

// endWithParent is for Linux. Elsewhere a process outlives a parent that is killed.
func endWithParent(*syscall.SysProcAttr, syscall.Signal) {}
