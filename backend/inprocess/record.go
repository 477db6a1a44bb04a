package inprocess

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"raisinproxy/backend"
)

// What stands on disk. The first byte of a key says what its record is; integers
// are of 8 bytes, big-endian.
//
//	l<key of the store>  a lease: token, deadline, ttl, when it was granted, the name of its holder
//	p<key of the store>  a pool: remaining units, capacity
//	m<name>              what concerns the whole store
const (
	leasePrefix = 'l'
	poolPrefix  = 'p'
	metaPrefix  = 'm'
)

var (
	formatKey  = []byte("mformat")  // formatVersion
	bootKey    = []byte("mboot")    // the boot whose clock the deadlines are of
	ceilingKey = []byte("mceiling") // no token above it was told
	pauseKey   = []byte("mpause")   // until when nothing is granted: deadline, ttl, the reason
)

// formatVersion is what this program writes. It reads namelessFormat too, whose leases
// end with their ttl and whose pools have no capacity, and unledgeredFormat, which is of
// versions that keep no ledger besides: they would make it a wrong one.
const (
	formatVersion    = "3"
	namelessFormat   = "2"
	unledgeredFormat = "1"
)

// checkFormat says why a store of a format cannot be read.
func checkFormat(format string) error {
	if format == formatVersion || format == namelessFormat || format == unledgeredFormat {
		return nil
	}
	// Formats are numbers, so what is none was never written.
	if number, err := strconv.Atoi(format); err == nil && strconv.Itoa(number) == format && number > 0 {
		return fmt.Errorf("%w: its format is %s, and this version reads those up to %s", ErrNewer, format, formatVersion)
	}
	return fmt.Errorf("%w: the format %q", errRecord, format)
}

// leaseRecord is a lease on disk.
type leaseRecord struct {
	token    int64
	deadline time.Duration // on the boot clock of the boot that bootKey names
	ttl      time.Duration // from the last grant or renewal to the deadline
	acquired int64         // by the wall clock, in microseconds since 1970; 0: nobody knows
	user     string        // "": nobody knows
}

func appendInt(buf []byte, n int64) []byte { return binary.BigEndian.AppendUint64(buf, uint64(n)) }

func appendLease(buf []byte, l *leaseRecord) []byte {
	buf = appendInt(buf, l.token)
	buf = appendInt(buf, int64(l.deadline))
	buf = appendInt(buf, int64(l.ttl))
	buf = appendInt(buf, l.acquired)
	return append(buf, l.user...)
}

func appendPool(buf []byte, p pool) []byte {
	return appendInt(appendInt(buf, p.remaining), p.capacity)
}

var errRecord = errors.New("a record that no version of this program has written")

// readInt reads a count or a token, which are not negative.
func readInt(value []byte) (int64, error) {
	if len(value) != 8 {
		return 0, fmt.Errorf("%w: %d bytes, want 8", errRecord, len(value))
	}
	n := int64(binary.BigEndian.Uint64(value))
	if n < 0 {
		return 0, fmt.Errorf("%w: %d is below zero", errRecord, n)
	}
	return n, nil
}

func readLease(value []byte) (leaseRecord, error) {
	const nameless, least = 24, 32
	if len(value) != nameless && len(value) < least {
		return leaseRecord{}, fmt.Errorf("%w: a lease of %d bytes, want %d or more", errRecord, len(value), least)
	}
	token, err1 := readInt(value[:8])
	deadline, err2 := readInt(value[8:16])
	ttl, err3 := readInt(value[16:nameless])
	if err := errors.Join(err1, err2, err3); err != nil {
		return leaseRecord{}, err
	}
	if token >= backend.MaxToken {
		return leaseRecord{}, fmt.Errorf("%w: token %d", errRecord, token)
	}
	l := leaseRecord{token: token, deadline: time.Duration(deadline), ttl: time.Duration(ttl)}
	if len(value) == nameless {
		return l, nil
	}
	var err error
	if l.acquired, err = readInt(value[nameless:least]); err != nil {
		return leaseRecord{}, err
	}
	if l.user = string(value[least:]); strings.ContainsRune(l.user, 0) {
		return leaseRecord{}, fmt.Errorf("%w: a lease of %q, which is no name", errRecord, l.user)
	}
	return l, nil
}

// readPool reads a pool of any format.
func readPool(value []byte) (p pool, err error) {
	p.capacity = unknownCapacity
	if len(value) == 16 {
		if p.capacity, err = readCapacity(value[8:]); err != nil {
			return p, err
		}
		value = value[:8]
	}
	p.remaining, err = readInt(value)
	return p, err
}

// readCapacity reads a count, or unknownCapacity.
func readCapacity(value []byte) (int64, error) {
	n := int64(binary.BigEndian.Uint64(value))
	if n < unknownCapacity {
		return 0, fmt.Errorf("%w: a capacity of %d", errRecord, n)
	}
	return n, nil
}
