package testservers

import (
	"bytes"
	"io"
	"sync"
)

// Log is what a program prints, on both its outputs. It is safe for concurrent use.
type Log struct {
	mu    sync.Mutex
	more  *sync.Cond
	text  []byte
	ended bool
}

func newLog() *Log {
	l := new(Log)
	l.more = sync.NewCond(&l.mu)
	return l
}

// Write adds to it.
func (l *Log) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, text...)
	l.more.Broadcast()
	return len(text), nil
}

func (l *Log) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.more.Broadcast()
}

// String is all of it until now.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}

// Tail is its last lines.
func (l *Log) Tail() string {
	const kept = 40
	lines := bytes.SplitAfter([]byte(l.String()), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-kept):], nil))
}

// Reader reads all of it, waiting for what is still to come, until the program has ended.
func (l *Log) Reader() io.Reader { return &logReader{log: l} }

type logReader struct {
	log *Log
	at  int
}

func (r *logReader) Read(into []byte) (int, error) {
	l := r.log
	l.mu.Lock()
	defer l.mu.Unlock()
	for r.at == len(l.text) && !l.ended {
		l.more.Wait()
	}
	if r.at == len(l.text) {
		return 0, io.EOF
	}
	n := copy(into, l.text[r.at:])
	r.at += n
	return n, nil
}
