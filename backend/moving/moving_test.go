package moving

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"raisinproxy/backend"
)

// written makes a file of some records.
func written(t interface {
	Helper()
	Fatal(args ...any)
}, dir string, records ...Record) (path string) {
	t.Helper()
	path = filepath.Join(dir, fmt.Sprintf("export-%d", time.Now().UnixNano()))
	w, err := Create(path, "test")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Finish(1); err != nil {
		t.Fatal(err)
	}
	if err := w.Publish(); err != nil {
		t.Fatal(err)
	}
	return path
}

// all reads every record of a file.
func all(path string) (records []Record, totals Totals, err error) {
	f, err := Open(path)
	if err != nil {
		return nil, totals, err
	}
	err = f.Each(func(r Record) error { records = append(records, r); return nil })
	return records, f.Totals, errors.Join(err, f.Close())
}

var some = []Record{
	{Pool: &Pool{Scope: backend.Scope{Tenant: "default", Repository: "shop", Branch: "main"}, Name: "flight", Remaining: 9223372036854775807}},
	{Lease: &Lease{Scope: backend.Scope{Tenant: "default", Repository: "shop", Branch: "main"}, Key: "seat", Token: backend.MaxToken - 1, Remaining: time.Minute}},
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	dir := t.TempDir()
	// Any bytes, and those that writers of JSON or of UTF-8 treat in their own ways.
	name := rapid.OneOf(rapid.StringN(1, 20, 200), rapid.Map(rapid.SliceOfN(rapid.Byte(), 1, 40), func(b []byte) string { return string(b) }),
		rapid.SampledFrom([]string{"\x00", "<>&", "\u2028\u2029", "\ufffd", "\xff", "\xed\xa0\x80", "é", "e\u0301", "{\"base64\":\"\"}", "\n", `\`, `"`}))
	records := rapid.Custom(func(t *rapid.T) Record {
		scope := backend.Scope{Tenant: name.Draw(t, "tenant"), Repository: name.Draw(t, "repository"), Branch: name.Draw(t, "branch")}
		if rapid.Bool().Draw(t, "pool") {
			return Record{Pool: &Pool{Scope: scope, Name: name.Draw(t, "name"), Remaining: rapid.Int64Min(0).Draw(t, "remaining")}}
		}
		return Record{Lease: &Lease{Scope: scope, Key: name.Draw(t, "key"), Token: rapid.Int64Range(1, backend.MaxToken-1).Draw(t, "token"),
			Remaining: time.Duration(rapid.Int64Range(1, 1<<40).Draw(t, "ms")) * time.Millisecond}}
	})
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(records, 0, 5).Draw(t, "records")
		got, totals, err := all(written(t, dir, want...))
		if err != nil || !reflect.DeepEqual(got, append([]Record(nil), want...)) {
			t.Fatalf("read %+v, %v; want %+v", got, err, want)
		}
		for _, r := range want {
			if r.Lease != nil && totals.GreatestToken < r.Lease.Token {
				t.Fatalf("the greatest token is %d, and %d was written", totals.GreatestToken, r.Lease.Token)
			}
		}
	})
}

func TestAPartOfAMillisecondIsAWholeOne(t *testing.T) {
	got, _, err := all(written(t, t.TempDir(), Record{Lease: &Lease{Key: "k", Token: 1, Remaining: time.Millisecond + 1}}))
	if err != nil || got[0].Lease.Remaining != 2*time.Millisecond {
		t.Fatalf("read %+v, %v; want 2ms", got, err)
	}
}

func TestAFileThatIsCutOffOrChangedIsRefused(t *testing.T) {
	path := written(t, t.TempDir(), some...)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	refuse := func(what string, text []byte) {
		t.Helper()
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := all(path); !errors.Is(err, ErrFile) {
			t.Errorf("%s: %v, want ErrFile", what, err)
		}
	}
	for i := range whole {
		refuse(fmt.Sprintf("cut off at %d", i), whole[:i])
		flipped := []byte(string(whole))
		flipped[i] ^= 1
		refuse(fmt.Sprintf("bit 0 of byte %d flipped", i), flipped)
	}
	refuse("something after the end", append([]byte(string(whole)), '\n'))
	refuse("twice", append([]byte(string(whole)), whole...))
	lines := strings.SplitAfter(string(whole), "\n")
	refuse("a line less", []byte(lines[0]+lines[2]+lines[3]))
	refuse("another order", []byte(lines[0]+lines[2]+lines[1]+lines[3]))
}

func TestAFileOfALaterFormatIsRefusedAsSuch(t *testing.T) {
	path := written(t, t.TempDir(), some...)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	later := strings.Replace(string(text), `"raisinproxy_export":2`, `"raisinproxy_export":3`, 1)
	if err := os.WriteFile(path, []byte(later), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); !errors.Is(err, ErrFile) || !strings.Contains(err.Error(), "format 3") {
		t.Errorf("Open = %v, want ErrFile that names the format", err)
	}
}

func TestAFileThatChangesWhileItIsReadIsRefused(t *testing.T) {
	dir := t.TempDir()
	path, other := written(t, dir, some...), written(t, dir, some[0])
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := os.ReadFile(other)
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Each(func(Record) error { return nil }); !errors.Is(err, ErrFile) {
		t.Errorf("Each = %v, want ErrFile", err)
	}
}

func TestAFileIsPrivateWholeAndNew(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	w, err := Create(path, "test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the file has its name before it is whole")
	}
	if _, err := w.Finish(1); err != nil {
		t.Fatal(err)
	}
	if err := w.Publish(); err != nil {
		t.Fatal(err)
	}
	w.Discard()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v; want it, for its owner only", info, err)
	}
	if _, err := Create(path, "test"); err == nil {
		t.Error("a file that exists is written over")
	}
	w, err = Create(filepath.Join(dir, "other"), "test")
	if err != nil {
		t.Fatal(err)
	}
	w.Discard()
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("%v is left of a file that was discarded", left)
	}
}
