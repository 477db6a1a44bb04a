package inprocess

import (
	"os"
	"strings"
)

// bootID names what CLOCK_BOOTTIME counts from: the boot of the machine and, in
// a time namespace, its offset (time_namespaces(7)). Deadlines of another one
// say nothing.
func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return unknownBoot()
	}
	offsets, _ := os.ReadFile("/proc/self/timens_offsets") // not in every kernel
	return strings.Join(strings.Fields(string(id)+" "+string(offsets)), " ")
}
