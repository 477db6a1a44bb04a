package moving

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"raisinproxy/backend"
)

// A Record is a pool or a lease. One of its fields is set.
type Record struct {
	Pool  *Pool
	Lease *Lease
}

// A Pool is a counted pool as it was when it was exported.
type Pool struct {
	Scope     backend.Scope
	Name      string
	Remaining int64
	Capacity  int64 // of its first claim, or UnknownCapacity
}

// UnknownCapacity is that of a pool of a version that did not keep it.
const UnknownCapacity = backend.UnknownCapacity

// A Lease is one that was live when it was exported.
type Lease struct {
	Scope backend.Scope
	Key   string
	Token int64
	// Remaining is what was left of it, rounded up to milliseconds. It counts anew from the import,
	// since nobody knows how long the file lay around: so a lease is never shorter than granted.
	Remaining time.Duration
	User      string // "": nobody knows
	Acquired  int64  // by the wall clock, in microseconds since 1970; 0: nobody knows
}

// Header is the first line.
type Header struct {
	Format int       `json:"raisinproxy_export"`
	ID     string    `json:"id"`     // random: a file that is imported again is known by it
	Source string    `json:"source"` // the kind of store
	Time   time.Time `json:"time"`
}

// Totals is what the last line says.
type Totals struct {
	Pools  int64 `json:"pools"`
	Leases int64 `json:"leases"`
	// GreatestToken: no token above it was told, of any key, free ones included.
	GreatestToken int64 `json:"greatest_token"`
}

type lastLine struct {
	Totals

	SHA256 string `json:"sha256"`
}

// line is a record as it is written.
type line struct {
	Tenant      text   `json:"tenant"`
	Repository  text   `json:"repository"`
	Branch      text   `json:"branch"`
	Pool        *text  `json:"pool,omitempty"`
	Remaining   *int64 `json:"remaining,omitempty"`
	Capacity    *int64 `json:"capacity,omitempty"`
	Key         *text  `json:"key,omitempty"`
	Token       *int64 `json:"token,omitempty"`
	RemainingMS *int64 `json:"remaining_ms,omitempty"`
	User        text   `json:"user,omitempty"`
	AcquiredUS  int64  `json:"acquired_us,omitempty"`
}

func lineOf(r Record) line {
	if p := r.Pool; p != nil {
		name := text(p.Name)
		l := line{Tenant: text(p.Scope.Tenant), Repository: text(p.Scope.Repository), Branch: text(p.Scope.Branch), Pool: &name, Remaining: &p.Remaining}
		if p.Capacity != UnknownCapacity {
			l.Capacity = &p.Capacity
		}
		return l
	}
	l := r.Lease
	key, ms := text(l.Key), milliseconds(l.Remaining)
	return line{
		Tenant: text(l.Scope.Tenant), Repository: text(l.Scope.Repository), Branch: text(l.Scope.Branch), Key: &key, Token: &l.Token, RemainingMS: &ms,
		User: text(l.User), AcquiredUS: l.Acquired,
	}
}

// milliseconds rounds up: a lease is never shorter than it was.
func milliseconds(d time.Duration) int64 {
	ms := d / time.Millisecond
	if d%time.Millisecond > 0 {
		ms++
	}
	return int64(ms)
}

var errLine = errors.New("a line that no export has written")

// record is what a line says.
func (l line) record() (Record, error) {
	scope := backend.Scope{Tenant: string(l.Tenant), Repository: string(l.Repository), Branch: string(l.Branch)}
	switch {
	case l.Pool != nil && l.Remaining != nil && l.Key == nil && l.Token == nil && l.RemainingMS == nil && l.User == "" && l.AcquiredUS == 0:
		p := Pool{Scope: scope, Name: string(*l.Pool), Remaining: *l.Remaining, Capacity: UnknownCapacity}
		if l.Capacity != nil {
			p.Capacity = *l.Capacity
		}
		return Record{Pool: &p}, p.check()
	case l.Key != nil && l.Token != nil && l.RemainingMS != nil && l.Pool == nil && l.Remaining == nil && l.Capacity == nil:
		const most = int64(1<<63-1) / int64(time.Millisecond)
		v := Lease{Scope: scope, Key: string(*l.Key), Token: *l.Token, Remaining: time.Duration(min(*l.RemainingMS, most)) * time.Millisecond,
			User: string(l.User), Acquired: l.AcquiredUS}
		return Record{Lease: &v}, v.check()
	}
	return Record{}, errLine
}

func (p *Pool) check() error {
	if p.Remaining < 0 {
		return fmt.Errorf("pool %q has %d units", p.Name, p.Remaining)
	}
	if p.Capacity < UnknownCapacity {
		return fmt.Errorf("pool %q has a capacity of %d", p.Name, p.Capacity)
	}
	return checkName(p.Name)
}

func (l *Lease) check() error {
	switch {
	case l.Token <= 0 || l.Token >= backend.MaxToken:
		return fmt.Errorf("the lease of %q has the token %d", l.Key, l.Token)
	case l.Remaining <= 0:
		return fmt.Errorf("the lease of %q has %v left", l.Key, l.Remaining)
	case l.Acquired < 0:
		return fmt.Errorf("the lease of %q was acquired at %d", l.Key, l.Acquired)
	}
	return checkName(l.Key)
}

func checkName(name string) error {
	if name == "" || len(name) > backend.MaxNameBytes {
		return fmt.Errorf("a name of %d bytes", len(name))
	}
	return nil
}

// text is a name, whatever bytes it has. JSON has texts of Unicode only, and its writers put
// another character in the place of anything else: two names could become one.
type text string

type bytesAsText struct {
	Base64 []byte `json:"base64"`
}

// MarshalJSON implements json.Marshaler.
func (t text) MarshalJSON() ([]byte, error) {
	if !utf8.ValidString(string(t)) {
		return json.Marshal(bytesAsText{[]byte(t)})
	}
	return json.Marshal(string(t))
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte("{")) {
		var b bytesAsText
		err := json.Unmarshal(data, &b)
		*t = text(b.Base64)
		return err
	}
	return json.Unmarshal(data, (*string)(t))
}
