package inprocess

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"raisinproxy/backend"
)

var (
	damageTrials = flag.Int("damage.trials", 2000, "how many times TestNoDamageGoesUnnoticed damages a store")
	damageSeed   = flag.Uint64("damage.seed", 1, "what its damage is drawn from")
)

// books are what was acknowledged.
type books struct {
	pools  map[string]int64
	leases map[string]int64
}

// missing says what of it is not in a store; "" if all of it is.
func (b books) missing(s *Store) string {
	for name, remaining := range b.pools {
		id := appendKey(nil, scope, name)
		if p := s.shardOf(id).pools[string(id)]; p == nil || p.remaining != remaining {
			return fmt.Sprintf("pool %.20q is %+v, want %d", name, p, remaining)
		}
	}
	last := int64(0)
	for name, token := range b.leases {
		id := appendKey(nil, scope, name)
		if l := s.shardOf(id).leases[string(id)]; l == nil || l.token != token || !l.live(s.clock.Boot()) {
			return fmt.Sprintf("lease %.20q is %+v, want token %d", name, l, token)
		}
		last = max(last, token)
	}
	if s.tokens.last.Load() < last {
		return fmt.Sprintf("the next token may be one that was told: %d after %d", s.tokens.last.Load()+1, last)
	}
	return ""
}

// fill changes n keys with long names, and waits for the disk once.
func (b books) fill(t *testing.T, s *Store, part string, n int) {
	t.Helper()
	filler := part + strings.Repeat("x", backend.MaxNameBytes-20)
	var last basis
	for i := range n {
		name := fmt.Sprint(filler, i)
		id := appendKey(nil, scope, name)
		if i%4 == 0 {
			grant, _, rests, err := s.acquireOrJoin(s.shardOf(id), id, backend.Request{TTL: time.Hour}, 0)
			if err != nil {
				t.Fatal(err)
			}
			b.leases[name], last = grant.token, rests
			continue
		}
		c, rests, err := s.claim(id, int64(i%7), 1000)
		if err != nil {
			t.Fatal(err)
		}
		b.pools[name], last = c.Remaining, rests
		if err := s.settle(t.Context(), last); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.settle(t.Context(), last); err != nil {
		t.Fatal(err)
	}
}

// threeLogs is a machine that lost its power while its store had tables and three
// logs which are in no table yet, and what was acknowledged.
func threeLogs(t *testing.T) (*machine, books) {
	t.Helper()
	m := newMachine()
	var shut atomic.Bool
	opened := make(chan struct{})
	m.meet = func(op errorfs.Op) error {
		if shut.Load() && strings.HasSuffix(op.Path, ".sst") {
			<-opened
		}
		return nil
	}
	s := m.open(t)
	b := books{pools: map[string]int64{}, leases: map[string]int64{}}
	b.fill(t, s, "tables", 100)
	if err := s.Close(); err != nil { // which writes the tables
		t.Fatal(err)
	}
	s = m.open(t)
	shut.Store(true)
	first := slices.Max(m.files(t, `\.log$`)) // older ones are in tables, and may not be removed yet
	for part := 0; len(since(first, m.files(t, `\.log$`))) < 3; part++ {
		b.fill(t, s, fmt.Sprint("logs ", part, " "), 100)
	}
	if err := s.journal.ledger.writeLatest(); err != nil {
		t.Fatal(err)
	}
	after := m.crashed(vfs.CrashCloneCfg{})
	close(opened)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if len(since(first, after.files(t, `\.log$`))) != 3 || len(after.files(t, `\.sst$`)) < 1 {
		t.Fatalf("the store has only %q", after.files(t, ""))
	}
	return after, b
}

// since are the names from one on, of names in order.
func since(first string, names []string) []string {
	at, _ := slices.BinarySearch(names, first)
	return names[at:]
}

// files are those of the data folder that a pattern fits, in order.
func (m *machine) files(t testing.TB, pattern string) []string {
	t.Helper()
	names, err := m.disk.List(dataDir)
	if err != nil {
		t.Fatal(err)
	}
	fits := regexp.MustCompile(pattern)
	names = slices.DeleteFunc(names, func(name string) bool { return !fits.MatchString(name) })
	slices.Sort(names)
	return names
}

func (m *machine) content(t testing.TB, name string) []byte {
	t.Helper()
	file, err := m.disk.Open(m.disk.PathJoin(dataDir, name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	content, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func (m *machine) replace(t testing.TB, name string, content []byte) {
	t.Helper()
	file, err := m.disk.Create(m.disk.PathJoin(dataDir, name), vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write(slices.Clone(content)); err != nil { // which may change it
		t.Fatal(err)
	}
	if err := errors.Join(file.Sync(), file.Close(), syncFolder(m.disk, dataDir)); err != nil {
		t.Fatal(err)
	}
}

func (m *machine) remove(t testing.TB, name string) {
	t.Helper()
	if err := errors.Join(m.disk.Remove(m.disk.PathJoin(dataDir, name)), syncFolder(m.disk, dataDir)); err != nil {
		t.Fatal(err)
	}
}

// ofTheStore are the files that it cannot do without: not those that name or lock
// its process.
const ofTheStore = `^(MANIFEST|OPTIONS|marker|LEDGER|RAISINPROXY|\d+\.)`

// snapshot has the content of all files of the store.
func (m *machine) snapshot(t testing.TB) map[string][]byte {
	all := map[string][]byte{}
	for _, name := range m.files(t, ofTheStore) {
		all[name] = m.content(t, name)
	}
	return all
}

// damages are ways to damage a file that is not empty, at random.
var damages = map[string]func(content []byte, random *rand.Rand) []byte{
	"a bit flipped": func(content []byte, random *rand.Rand) []byte {
		content[random.IntN(len(content))] ^= 1 << random.IntN(8)
		return content
	},
	// Where pebble does not tell damage from a write that was cut short.
	"a bit flipped near the end": func(content []byte, random *rand.Rand) []byte {
		content[len(content)-1-random.IntN(min(len(content), 32<<10))] ^= 1 << random.IntN(8)
		return content
	},
	"cut off": func(content []byte, random *rand.Rand) []byte { return content[:random.IntN(len(content))] },
	"cut off near the end": func(content []byte, random *rand.Rand) []byte {
		return content[:len(content)-1-random.IntN(min(len(content), 2<<10))]
	},
	"a sector of zeros": func(content []byte, random *rand.Rand) []byte {
		at := random.IntN(len(content)) &^ 511
		clear(content[at:min(at+512, len(content))])
		return content
	},
}

// However a file of a store is damaged: it is refused, and nothing in it is changed,
// or nothing that was acknowledged is missing.
func TestNoDamageGoesUnnoticed(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it damages a store a thousand times")
	}
	whole, want := threeLogs(t)
	s := whole.crashed(vfs.CrashCloneCfg{}).open(t)
	if missing := want.missing(s); missing != "" {
		t.Fatalf("without damage, %s", missing)
	}
	s.Close()

	random := rand.New(rand.NewPCG(*damageSeed, 0))
	kinds := slices.Sorted(maps.Keys(damages))
	files := whole.files(t, ofTheStore)
	refused, opened := map[string]int{}, 0
	for trial := range *damageTrials {
		m := whole.crashed(vfs.CrashCloneCfg{})
		name, kind := files[random.IntN(len(files))], "removed"
		if content := m.content(t, name); trial%20 > 0 && len(content) > 0 {
			kind = kinds[random.IntN(len(kinds))]
			m.replace(t, name, damages[kind](content, random))
		} else {
			m.remove(t, name)
		}
		if m.judge(t, fmt.Sprintf("trial %d, %s %s", trial, name, kind), want) {
			refused[regexp.MustCompile(`[-\d.]+`).ReplaceAllString(name, " ")]++
		} else {
			opened++
		}
	}
	t.Logf("%d trials: %d times all was there, refused %v", *damageTrials, opened, refused)
	for _, kind := range []string{" log", " sst", "MANIFEST ", "marker manifest MANIFEST ", "RAISINPROXY"} {
		if refused[kind] == 0 {
			t.Errorf("vacuous: no damage to %q was refused: %v", kind, refused)
		}
	}
	if opened == 0 {
		t.Error("vacuous: no store was opened")
	}
}

// judge opens a store that may be damaged, and tells whether it was refused.
func (m *machine) judge(t *testing.T, what string, want books) (refused bool) {
	t.Helper()
	before := m.snapshot(t)
	s, err := m.tryOpen()
	if err != nil {
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v, want ErrDamaged", what, err)
		}
		if !maps.EqualFunc(before, m.snapshot(t), bytes.Equal) {
			t.Errorf("%s: the refused store was changed", what)
		}
		return true
	}
	if missing := want.missing(s); missing != "" {
		t.Errorf("%s: opened, and %s", what, missing)
	}
	if err := s.Close(); err != nil {
		t.Errorf("%s: Close: %v", what, err)
	}
	return false
}

// After a clean end all is in tables. The ledger may lag behind the logs then: without any
// of them in it nothing is missing, whatever becomes of them.
func TestDamageOfLogsAfterACleanEnd(t *testing.T) {
	whole := newMachine()
	s := whole.open(t)
	want := books{pools: map[string]int64{}, leases: map[string]int64{}}
	want.fill(t, s, "", 20)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole.forgetLogs(t)
	logs := whole.files(t, `\.log$`)
	if len(logs) == 0 {
		t.Fatal("vacuous: there is no log")
	}
	for _, name := range logs {
		content := whole.content(t, name)
		for what, left := range map[string][]byte{
			"emptied":          nil,
			"cut in half":      content[:len(content)/2],
			"without its end":  content[:max(len(content), 1)-1],
			"of zeros":         make([]byte, len(content)),
			"changed at first": slices.Concat([]byte{0xff}, content[min(1, len(content)):]),
		} {
			m := whole.crashed(vfs.CrashCloneCfg{})
			m.replace(t, name, left)
			m.judge(t, name+" "+what, want)
		}
		m := whole.crashed(vfs.CrashCloneCfg{})
		m.remove(t, name)
		if m.judge(t, name+" removed", want) {
			t.Errorf("a store was refused without %s, of which all is in tables", name)
		}
	}
}

// forgetLogs takes all logs out of the ledger.
func (m *machine) forgetLogs(t *testing.T) {
	t.Helper()
	known, err := readLedger(m.folder())
	if err != nil {
		t.Fatal(err)
	}
	known.seq++
	known.entries = slices.DeleteFunc(known.entries, func(e ledgerEntry) bool { return e.id.kind == logFile })
	slot, err := known.encode()
	if err != nil {
		t.Fatal(err)
	}
	content := m.content(t, ledgerName)
	copy(content[known.offset():], slot)
	m.replace(t, ledgerName, content)
}

// When a store is open nobody reads its tables until they are merged: what is damaged there
// is found by whoever waits for the answer, and not by pebble in the background.
func TestTablesAreNotReadInTheBackground(t *testing.T) {
	inBubble(t, "after a start", func(t *testing.T) {
		m := newMachine()
		s := m.open(t)
		claim(t, s, "p", 1, 10)
		s.Close()
		m = m.killed()
		if len(m.files(t, `\.sst$`)) == 0 {
			t.Fatal("vacuous: there is no table")
		}
		var read atomic.Int64
		var writing atomic.Bool
		m.meet = func(op errorfs.Op) error {
			switch {
			case isLedgerSync(op): // all was read, and pebble opens the store for writing
				writing.Store(true)
			case strings.HasSuffix(op.Path, ".sst") && op.Kind == errorfs.OpFileReadAt && writing.Load():
				read.Add(1)
			}
			return nil
		}
		s = m.open(t)
		claim(t, s, "p", 1, 10)
		synctest.Wait()
		if n := read.Load(); n > 0 {
			t.Errorf("tables were read %d times after they were found whole", n)
		}
	})
}
