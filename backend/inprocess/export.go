package inprocess

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"raisinproxy/backend"
	"raisinproxy/backend/moving"
)

// Source is what a file says of a store of this kind.
const Source = "inprocess"

// Export writes the pools and live leases of the store in a data folder to a file, publishes it, and seals
// the folder before: the store cannot be opened any more, until Reopen, so that no two stores sell
// the same units. No process may have the folder open. Nothing in it is changed but for
// the seal.
//
// A store that was exported before is refused with ErrSealed unless again is set. It fails
// with ErrInUse, ErrDamaged, or what the system says; then there is no file.
func Export(dir string, to *moving.Writer, again bool, opts Options) (totals moving.Totals, err error) {
	opts = opts.onDisk()
	if _, err := opts.disk.Stat(dir); err != nil {
		return totals, err
	}
	home, err := lockFolder(opts.disk, dir)
	if err != nil {
		return totals, err
	}
	defer func() { err = errors.Join(err, home.unlock()) }()
	before, err := home.readSeal()
	if err != nil {
		return totals, err
	}
	if before != nil && (before.State == importing || before.State == exported && !again) {
		return totals, before.refusal(dir)
	}
	if totals, err = exportRecords(home, to, opts); err != nil {
		return totals, err
	}
	// The seal first: a file that somebody may import is never beside a store that can be opened.
	if err := home.seal(exporting, to.Header.ID, to.Path()); err != nil {
		return totals, err
	}
	if err := to.Publish(); err != nil {
		return totals, err
	}
	return totals, home.seal(exported, to.Header.ID, to.Path())
}

// exportRecords writes all of a file but its name.
func exportRecords(home *folder, to *moving.Writer, opts Options) (moving.Totals, error) {
	if _, err := home.verify(); err != nil {
		return moving.Totals{}, whyNot(home.path, err)
	}
	if !home.isMarked() {
		return moving.Totals{}, fmt.Errorf("there is no lock store in %s", home.path)
	}
	// The clock is read before the records: a lease has rather more left than less.
	e := export{recovery: recovery{now: opts.clock().Boot(), boot: opts.bootID}, to: to}
	err := readOnly(home, opts.Log, func(db *pebble.DB) error {
		if err := e.readHead(db, true); err != nil {
			return err
		}
		return eachRecord(db, e.take)
	})
	switch {
	case e.fault != nil: // of the file, not of the store
		return moving.Totals{}, e.fault
	case err != nil:
		return moving.Totals{}, whyNot(home.path, err)
	case e.pause.unfinished(e.now, e.sameBoot):
		return moving.Totals{}, fmt.Errorf("%w: the lock store %s, and a store that it is moved to would grant locks that may be held: start it here, and move it when it grants", backend.ErrPaused, e.pause.why)
	}
	return to.Finish(e.ceiling)
}

// export writes the records of a store to a file.
type export struct {
	recovery

	to    *moving.Writer
	fault error // of writing
}

// take writes one record.
func (e *export) take(key, value []byte) error {
	if err := checkRecord(key, value); err != nil {
		return err
	}
	switch {
	case bytes.Equal(key, ceilingKey):
		e.ceiling, _ = readInt(value) // checked
		return nil
	case bytes.Equal(key, pauseKey):
		e.pause, _ = readPause(value) // checked
		return nil
	case key[0] == metaPrefix:
		return nil
	}
	scope, name, err := splitKey(key[1:])
	if err != nil {
		return err
	}
	if key[0] == poolPrefix {
		p, _ := readPool(value) // checked
		e.fault = e.to.Write(moving.Record{Pool: &moving.Pool{Scope: scope, Name: name, Remaining: p.remaining, Capacity: p.capacity}})
		return e.fault
	}
	lease, _ := readLease(value) // checked
	if left := e.deadlineOf(lease) - e.now; left > 0 {
		e.fault = e.to.Write(moving.Record{Lease: &moving.Lease{Scope: scope, Key: name, Token: lease.token, Remaining: left,
			User: lease.user, Acquired: lease.acquired}})
	}
	return e.fault
}

// splitKey takes a key apart that appendKey has made.
func splitKey(key []byte) (backend.Scope, string, error) {
	var parts [4]string
	for i := range parts {
		length, n := binary.Uvarint(key)
		if n <= 0 || length > uint64(len(key)-n) {
			return backend.Scope{}, "", errRecord
		}
		end := n + int(length)
		parts[i], key = string(key[n:end]), key[end:]
	}
	if len(key) > 0 {
		return backend.Scope{}, "", errRecord
	}
	return backend.Scope{Tenant: parts[0], Repository: parts[1], Branch: parts[2]}, parts[3], nil
}

// clock is the one of the options, or the machine's.
func (o Options) clock() Clock {
	if o.Clock == nil {
		return systemClock{}
	}
	return o.Clock
}

// never is a pause for a reaper that must not come: longer than any process lives.
const never = time.Duration(1<<63 - 1)
