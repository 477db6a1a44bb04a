// Package proc tells what a process takes.
package proc

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// Resident is the resident memory of a process, in bytes.
func Resident(pid int) (int64, error) { return field(pid, "VmRSS:") }

// Peak is the most that it ever was.
func Peak(pid int) (int64, error) { return field(pid, "VmHWM:") }

func field(pid int, name string) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(status) {
		if kib, ok := bytes.CutPrefix(line, []byte(name)); ok {
			n, err := strconv.ParseInt(string(bytes.Fields(kib)[0]), 10, 64)
			return n << 10, err
		}
	}
	return 0, fmt.Errorf("the status of process %d does not tell its memory", pid)
}
