package inprocess

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// What stands in the ledger's file: two slots that are written in turns, so that one
// is whole if the other is cut short by a crash. A slot is, with integers of 4 and 8
// bytes, big-endian:
//
//	"RLEDGER1", sequence (8), least manifest of the marker (8), number of entries (4)
//	of each entry: 'l' or 'm', number of the file (8), length (8), CRC32C (4)
//	CRC32C of all this (4)
const (
	ledgerName  = "LEDGER"
	ledgerMagic = "RLEDGER1"
	slotBytes   = 16 << 10 // some hundred times what is usual
	headBytes   = len(ledgerMagic) + 8 + 8 + 4
	entryBytes  = 1 + 8 + 8 + 4
	maxEntries  = (slotBytes - headBytes - 4) / entryBytes
)

// ledgerRecord is what a slot holds.
type ledgerRecord struct {
	seq     uint64
	marker  uint64
	entries []ledgerEntry
}

// offset is that of the slot which the record goes to.
func (r ledgerRecord) offset() int64 { return int64(r.seq%2) * slotBytes }

func (r ledgerRecord) encode() ([]byte, error) {
	if len(r.entries) > maxEntries {
		return nil, fmt.Errorf("%d files in use, and there is room for %d in %s", len(r.entries), maxEntries, ledgerName)
	}
	buf := make([]byte, 0, headBytes+len(r.entries)*entryBytes+4)
	buf = append(buf, ledgerMagic...)
	buf = binary.BigEndian.AppendUint64(buf, r.seq)
	buf = binary.BigEndian.AppendUint64(buf, r.marker)
	buf = binary.BigEndian.AppendUint32(buf, uint32(len(r.entries)))
	for _, e := range r.entries {
		buf = append(buf, byte(e.id.kind))
		buf = binary.BigEndian.AppendUint64(buf, e.id.num)
		buf = binary.BigEndian.AppendUint64(buf, uint64(e.length))
		buf = binary.BigEndian.AppendUint32(buf, e.crc)
	}
	return binary.BigEndian.AppendUint32(buf, crc32.Checksum(buf, castagnoli)), nil
}

// decodeSlot reads a slot; false: it is not whole.
func decodeSlot(slot []byte) (r ledgerRecord, whole bool) {
	if len(slot) < headBytes+4 || !bytes.HasPrefix(slot, []byte(ledgerMagic)) {
		return r, false
	}
	head := slot[len(ledgerMagic):]
	r.seq, r.marker = binary.BigEndian.Uint64(head), binary.BigEndian.Uint64(head[8:])
	count := int(binary.BigEndian.Uint32(head[16:]))
	end := headBytes + count*entryBytes
	if count > maxEntries || len(slot) < end+4 {
		return r, false
	}
	for entry := range slices.Chunk(slot[headBytes:end], entryBytes) {
		r.entries = append(r.entries, ledgerEntry{
			id:     fileID{kind: fileKind(entry[0]), num: binary.BigEndian.Uint64(entry[1:])},
			length: int64(binary.BigEndian.Uint64(entry[9:])),
			crc:    binary.BigEndian.Uint32(entry[17:]),
			named:  true,
		})
	}
	return r, binary.BigEndian.Uint32(slot[end:]) == crc32.Checksum(slot[:end], castagnoli)
}

var errNoLedger = fmt.Errorf("neither half of %s is whole", ledgerName)

// readLedger gives the latest record in a folder.
func readLedger(home *folder) (latest ledgerRecord, err error) {
	text, err := home.read(ledgerName)
	if err != nil {
		return latest, err
	}
	found := false
	for _, at := range []int{0, slotBytes} {
		if at >= len(text) {
			break
		}
		slot := []byte(text[at:min(at+slotBytes, len(text))])
		if r, whole := decodeSlot(slot); whole && (!found || r.seq > latest.seq) {
			latest, found = r, true
		}
	}
	if !found {
		return latest, errNoLedger
	}
	return latest, nil
}

// compare finds what of the record is not on the disk. It comes before pebble is let
// at the folder, since that deletes what it does not miss.
func (r ledgerRecord) compare(home *folder) error {
	names, err := home.fs.List(home.path)
	if err != nil {
		return err
	}
	missing := []error{r.compareMarker(names)}
	for _, e := range r.entries {
		missing = append(missing, e.compare(home))
	}
	return errors.Join(missing...)
}

func (r ledgerRecord) compareMarker(names []string) error {
	var latest, current uint64
	for _, name := range names {
		if iteration, manifest, ok := parseMarker(name); ok && iteration >= latest {
			latest, current = iteration, manifest
		}
	}
	if current < r.marker {
		return fmt.Errorf("the marker of the manifest in use is missing or old: it names number %d, and named %d", current, r.marker)
	}
	return nil
}

// compare reads as much of a file as was once synced.
func (e ledgerEntry) compare(home *folder) error {
	file, err := home.fs.Open(home.fs.PathJoin(home.path, e.id.String()), vfs.SequentialReadsOption)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is missing, of which %d bytes were written", e.id, e.length)
	}
	if err != nil {
		return err
	}
	sum := crc32.New(castagnoli)
	n, err := io.CopyN(sum, file, e.length)
	_ = file.Close() // it was only read
	switch {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%s is cut off: %d bytes were written, and %d are there", e.id, e.length, n)
	case err != nil:
		return fmt.Errorf("%s: %w", e.id, err)
	case sum.Sum32() != e.crc:
		return fmt.Errorf("%s is changed: its first %d bytes are not what was written", e.id, e.length)
	}
	return nil
}

// begin lets the ledger write its record from here on: after the latest one if the
// folder has one that counts, and else anew.
func (l *ledger) begin(home *folder, known ledgerRecord) error {
	for _, e := range known.entries {
		l.entries[e.id] = &e
	}
	l.seq, l.marker, l.moving = known.seq, known.marker, known.marker
	l.where = inodeOf(home.fs.Stat(l.dir))
	path := home.fs.PathJoin(home.path, ledgerName)
	if known.seq == 0 {
		if err := home.write(ledgerName, string(make([]byte, 2*slotBytes))); err != nil {
			return err
		}
	}
	file, err := home.fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	l.file = file
	l.version++ // a first record, or the last one again in the other slot
	return l.write(l.version)
}
