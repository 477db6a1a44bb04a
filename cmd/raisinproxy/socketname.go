package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"raisinproxy/backend/inprocess"
)

// maxSocketPath is what every system has room for in the address of a socket; unix(7).
const maxSocketPath = 103

// A socketName is the path of the socket in a folder, as short as a system can take it.
type socketName struct {
	path string
	dir  *os.File // which path goes through; nil: it does not
}

// nameSocket gives the name of the socket of a folder, by a descriptor if its path is too long.
func nameSocket(dir string) (*socketName, error) {
	path := filepath.Join(dir, inprocess.ControlFile)
	if len(path) <= maxSocketPath {
		return &socketName{path: path}, nil
	}
	open, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	short := fmt.Sprintf("/proc/self/fd/%d/%s", open.Fd(), inprocess.ControlFile)
	if _, err := os.Stat(filepath.Dir(short)); err != nil {
		return nil, errors.Join(fmt.Errorf("the path of the socket %s is longer than %d bytes, and there is no /proc to shorten it by", path, maxSocketPath), open.Close())
	}
	return &socketName{path: short, dir: open}, nil
}

func (s *socketName) close() error {
	if s.dir == nil {
		return nil
	}
	return s.dir.Close()
}

// listen makes the socket anew. Nobody else may connect at any moment: the mode is set
// before it has a name, where the system takes that, and after.
func (s *socketName) listen(ctx context.Context) (*net.UnixListener, error) {
	if err := s.removeStale(); err != nil {
		return nil, err
	}
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { _ = unix.Fchmod(int(fd), 0o600) })
	}}
	listener, err := config.Listen(ctx, "unix", s.path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(s.path, 0o600); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener.(*net.UnixListener), nil //nolint:forcetypeassert // of this network they all are
}

// removeStale removes a socket, and nothing else.
func (s *socketName) removeStale() error {
	info, err := os.Lstat(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return errNotASocket
	}
	return os.Remove(s.path)
}
