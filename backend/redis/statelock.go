package redis

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// stateLock keeps a state file to one process. Two that wrote the same file would each undo what the other
// has seen, and take that for a loss.
type stateLock struct{ file *os.File }

// lockState locks a state file, by a file beside it: the state file itself is replaced each time. It
// fails, naming the process that has it, if there is one.
func lockState(path string) (*stateLock, error) {
	if path == "" {
		return &stateLock{}, nil
	}
	file, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("state file: %w", err)
	}
	switch err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		holder, _ := io.ReadAll(io.LimitReader(file, 300))
		_ = file.Close() // nothing was written
		return nil, fmt.Errorf("state file %s is in use by %s: each proxy needs a file of its own", path, strings.TrimSpace(string(holder)))
	case err != nil:
		return nil, errors.Join(fmt.Errorf("state file: locking it: %w", err), file.Close())
	}
	host, _ := os.Hostname() // the file may be on a disk that others have too
	err = errors.Join(file.Truncate(0), writeAt(file, fmt.Sprintf("process %d on %s\n", os.Getpid(), host)))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("state file: %w", err), file.Close())
	}
	return &stateLock{file}, nil
}

func writeAt(file *os.File, text string) error {
	_, err := file.WriteAt([]byte(text), 0)
	return err
}

// close gives the lock back.
func (l *stateLock) close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}
