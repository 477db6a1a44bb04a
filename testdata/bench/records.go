package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"runtime"
	"time"
)

// records writes the raw results. The first error is kept for close.
type records struct {
	file    *os.File
	encoder *json.Encoder
	err     error
}

func newRecords(path string) (*records, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &records{file: file, encoder: json.NewEncoder(file)}, nil
}

func (r *records) write(v any) {
	if err := r.encoder.Encode(v); r.err == nil {
		r.err = err
	}
}

func (r *records) close() error { return errors.Join(r.err, r.file.Close()) }

// runRecord is one run of one contestant.
type runRecord struct {
	Contest    string  `json:"contest"`
	Contestant string  `json:"contestant"`
	Round      int     `json:"round"`
	Value      float64 `json:"value"`
	Unit       string  `json:"unit"`
	CPU        float64 `json:"cpu_us_each"`
}

func newRun(c *contest, contestant, round int, s sample) runRecord {
	return runRecord{c.name, c.contestants[contestant].name, round, s.value, c.unit, s.cpuEach()}
}

// machineRecord says where the results come from.
type machineRecord struct {
	Date    time.Time `json:"date"`
	CPUs    int       `json:"cpus"`
	Model   string    `json:"model"`
	Go      string    `json:"go"`
	Load    string    `json:"load"` // what else the machine did at the beginning
	Seconds int       `json:"seconds"`
	Rounds  int       `json:"rounds"`
}

func machine(o options) machineRecord {
	return machineRecord{time.Now(), runtime.NumCPU(), model(), runtime.Version(), load(), o.seconds, o.rounds}
}

// load is the load average of 1, 5 and 15 minutes: what is far above nought before the first run
// is somebody else's.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg") // absent on other systems: then it is not told
	fields := bytes.Fields(text)
	return string(bytes.Join(fields[:min(3, len(fields))], []byte(" ")))
}

func model() string {
	info, _ := os.ReadFile("/proc/cpuinfo") // as above
	for text := range bytes.Lines(info) {
		if name, value, ok := bytes.Cut(text, []byte(":")); ok && bytes.HasPrefix(name, []byte("model name")) {
			return string(bytes.TrimSpace(value))
		}
	}
	return runtime.GOARCH
}
