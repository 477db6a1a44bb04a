package inprocess

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"

	"raisinproxy/backend"
)

// restoredLead is how far beyond the wall clock the tokens of a store begin that does
// not know the last ones: an hour, in microseconds. Those were ahead of the clock by
// tokenLead for each restart in quick succession, or the clock may have been set back.
const restoredLead = 3_600_000_000

// A pause is how long nothing is granted in a store that does not know of all leases:
// one that was restored from a backup, or repaired. It is a lease of everything that
// nobody holds, and recovery treats it as one.
type pause struct {
	deadline time.Duration // on the boot clock; 0: not begun
	ttl      time.Duration // from its begin to the deadline: the longest lease that may run
	why      string        // "was restored from a backup of …"; "": there is no pause
}

// runs tells whether nothing is granted at a moment.
func (p *pause) runs(now time.Duration) bool { return now < p.deadline }

// unfinished tells whether a pause that was read would go on if the store were opened.
func (p *pause) unfinished(now time.Duration, sameBoot bool) bool {
	return p.why != "" && (p.deadline == 0 || !sameBoot || p.runs(now))
}

// refusal is the answer to Acquire while the pause runs.
func (p *pause) refusal(now time.Duration) error {
	left := (p.deadline - now + time.Second - 1).Truncate(time.Second)
	return fmt.Errorf("%w: the lock store %s; locks are granted again in %v", backend.ErrPaused, p.why, left)
}

// cover lets the pause last as long as a lease that a record tells of, or the pause of
// which it does.
func (p *pause) cover(key, value []byte) {
	if bytes.Equal(key, pauseKey) {
		if before, err := readPause(value); err == nil {
			p.ttl = max(p.ttl, before.ttl)
		}
		return
	}
	if len(key) > 0 && key[0] == leasePrefix {
		if l, err := readLease(value); err == nil {
			p.ttl = max(p.ttl, l.ttl)
		}
	}
}

func appendPause(buf []byte, p pause) []byte {
	buf = appendInt(buf, int64(p.deadline))
	buf = appendInt(buf, int64(p.ttl))
	return append(buf, p.why...)
}

func readPause(value []byte) (pause, error) {
	if len(value) <= 16 {
		return pause{}, fmt.Errorf("%w: a pause of %d bytes", errRecord, len(value))
	}
	p := pause{
		deadline: time.Duration(binary.BigEndian.Uint64(value)),
		ttl:      time.Duration(binary.BigEndian.Uint64(value[8:])),
		why:      string(value[16:]),
	}
	if p.deadline < 0 || p.ttl < 0 {
		return pause{}, fmt.Errorf("%w: a pause of %v until %v", errRecord, p.ttl, p.deadline)
	}
	return p, nil
}

// beginPause lets a pause that was found begin, go on, or end.
func (r *recovery) beginPause(opts Options) {
	p := &r.pause
	if p.why == "" {
		return
	}
	first := p.deadline == 0
	if first {
		r.ceiling = max(r.ceiling, r.store.clock.Wall().UnixMicro()+restoredLead)
		_ = r.opening.Set(ceilingKey, appendInt(nil, r.ceiling), nil) // fails on indexed batches only
		p.ttl = max(p.ttl, opts.MaxTTL)
	}
	if first || !r.sameBoot {
		p.deadline = deadline(r.now, p.ttl)
	}
	if opts.ContinueOnRestore || !p.runs(r.now) {
		p.deadline = r.now
		_ = r.opening.Delete(pauseKey, nil)
	} else {
		_ = r.opening.Set(pauseKey, appendPause(nil, *p), nil)
	}
	if first {
		opts.Log.Warn("the lock store "+p.why+": what was changed since then is forgotten, and units that were claimed may be sold again",
			"locks_paused", (p.deadline - r.now).String())
	} else if p.runs(r.now) {
		opts.Log.Warn("the lock store "+p.why+": leases that it does not know of may run", "locks_paused", (p.deadline - r.now).String())
	}
}
