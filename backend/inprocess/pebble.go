package inprocess

import (
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	// memTableBytes is how much is logged before it is written in order: some tens of
	// thousands of changes. A store that is idle keeps two of them in memory, and four
	// logs of this size on disk, which are written over again.
	memTableBytes = 4 << 20
	// tablesBeforeMerge is how many of them wait until they are merged with all the rest.
	// It may be high, since nobody reads them but the next start.
	tablesBeforeMerge = 16
)

// pebbleOptions are those of a store that lives in memory as a whole: it is read
// once, when it is opened.
func pebbleOptions(disk *failStop, log *slog.Logger) *pebble.Options {
	opts := readOptions(disk, log, disk.fail)
	opts.MemTableSize = memTableBytes
	opts.L0CompactionThreshold = tablesBeforeMerge
	opts.L0StopWritesThreshold = 4 * tablesBeforeMerge
	return opts
}

// readOptions are those of a store that is only read.
func readOptions(disk vfs.FS, log *slog.Logger, fail func(error)) *pebble.Options {
	// A background error stops the store as a failed write does: pebble would try
	// again for ever, and hold up its writers meanwhile.
	return &pebble.Options{
		FS:                 disk,
		FormatMajorVersion: pebble.FormatNewest,
		// They would be read in the background, where a damaged table makes pebble panic.
		DisableTableStats: true,
		Logger:            pebbleLog{log: log, fail: fail},
		EventListener: &pebble.EventListener{
			BackgroundError: fail,
			DataCorruption:  func(info pebble.DataCorruptionInfo) { fail(fmt.Errorf("%s: %w", info.Path, info.Details)) },
		},
	}
}

// pebbleLog is where pebble writes. What is fatal to it is not to the process.
type pebbleLog struct {
	log  *slog.Logger
	fail func(error)
}

func (l pebbleLog) Infof(format string, args ...any) {
	l.log.Debug("pebble: " + fmt.Sprintf(format, args...))
}

func (l pebbleLog) Errorf(format string, args ...any) {
	l.log.Warn("pebble: " + fmt.Sprintf(format, args...))
}

func (l pebbleLog) Fatalf(format string, args ...any) {
	l.fail(fmt.Errorf(format, args...))
}
