package testservers

import "syscall"

// endWithParent has a process get a signal when its parent has ended, however that ended.
func endWithParent(attributes *syscall.SysProcAttr, signal syscall.Signal) {
	attributes.Pdeathsig = signal
}
