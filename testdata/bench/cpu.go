package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// tick is the unit of times in /proc: USER_HZ is 100 on every Linux.
const tick = 10 * time.Millisecond

// Fields of /proc/PID/stat after the name; see proc(5).
const (
	fieldParent = 1
	fieldUser   = 11 // then: system, user of ended children, system of ended children
)

// cpuTime is the processor time that a process and its children, ended ones too, have used.
func cpuTime(pid int) (time.Duration, error) {
	var total time.Duration
	found := false
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended meanwhile
		}
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		switch own := path == fmt.Sprintf("/proc/%d/stat", pid); {
		case own:
			found = true
			total += ticks(fields[fieldUser : fieldUser+4])
		case string(fields[fieldParent]) == strconv.Itoa(pid):
			total += ticks(fields[fieldUser : fieldUser+2])
		}
	}
	if !found {
		return 0, fmt.Errorf("process %d has ended", pid)
	}
	return total, nil
}

func ticks(fields [][]byte) (sum time.Duration) {
	for _, field := range fields {
		n, _ := strconv.ParseInt(string(field), 10, 64) // proc(5) promises a number
		sum += time.Duration(n) * tick
	}
	return sum
}
