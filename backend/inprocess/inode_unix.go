//go:build unix

package inprocess

import (
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// inodeOf tells which file or folder it is, whatever its name; the zero inode if the
// file system does not say.
func inodeOf(info vfs.FileInfo, err error) inode {
	if err != nil {
		return inode{}
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return inode{}
	}
	return inode{known: true, device: uint64(stat.Dev), number: stat.Ino, names: uint64(stat.Nlink)} //nolint:unconvert // their types depend on the system
}
