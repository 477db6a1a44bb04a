package inprocess

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// inode is a file or folder apart from its name.
type inode struct {
	known          bool
	device, number uint64
	names          uint64 // that it has: 0 if it was removed
}

func (i inode) is(other inode) bool { return i.device == other.device && i.number == other.number }

var errMoved = errors.New("the data folder was removed, moved or replaced while it was in use")

// inPlace fails if what is written to the log would not be found by whoever opens the
// folder by its name.
func (l *ledger) inPlace(log vfs.File) error {
	if !l.where.known {
		return nil
	}
	if file := inodeOf(log.Stat()); file.known && file.names == 0 {
		return fmt.Errorf("%w: its log has no name any more", errMoved)
	}
	if now := inodeOf(l.Stat(l.dir)); !now.is(l.where) {
		return fmt.Errorf("%w: %s is another one now, or none", errMoved, l.dir)
	}
	return nil
}
