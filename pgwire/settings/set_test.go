package settings

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDefaults(t *testing.T) {
	s := New(defaults(t), "joe")
	for name, want := range map[string]string{
		"server_version": "14.18 (raisinproxy 1.2.3)", "server_version_num": "140018", "TimeZone": "UTC", "datestyle": "ISO, MDY",
		"server_encoding": "UTF8", "client_encoding": "UTF8", "is_superuser": "off", "session_authorization": "joe", "role": "none",
		"in_hot_standby": "off", "search_path": `"$user", public`, "app.branch": "main", "transaction_isolation": "read committed",
		"default_transaction_read_only": "off", "integer_datetimes": "on", "work_mem": "4MB", "shared_buffers": "128MB", "sort_mem": "4MB",
		"max_identifier_length": "63", "lc_collate": "C.UTF-8", "seed": "unavailable", "log_file_mode": "0600", "wal_segment_size": "16MB",
		"segment_size": "1GB", "standard_conforming_strings": "on", "statement_timeout": "0", "vacuum_cost_delay": "0", "temp_buffers": "8MB",
	} {
		if got, err := s.Show(name); got != want {
			t.Errorf("%s is %q (%v), want %q", name, got, err, want)
		}
	}
	if !s.StandardConformingStrings() || s.StatementTimeout() != 0 || s.Branch() != "main" || s.ClientEncoding() != "UTF8" || s.TimeZone().String() != "UTC" {
		t.Error("a typed default is wrong")
	}
}

func TestOptions(t *testing.T) {
	d, err := NewDefaults(Options{Branch: "trunk", Overrides: map[string]string{"PORT": "6433", "timezone": "europe/berlin", "ssl": "yes"}})
	if err != nil {
		t.Fatal(err)
	}
	s := New(d, "joe")
	for name, want := range map[string]string{"port": "6433", "TimeZone": "Europe/Berlin", "ssl": "on", "app.branch": "trunk"} {
		if got, _ := s.Show(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if s.TimeZone().String() != "Europe/Berlin" || s.Branch() != "trunk" {
		t.Error("the typed values are not the overridden ones")
	}
	for name, value := range map[string]string{"port": "-2", "nonsense": "1"} {
		if _, err := NewDefaults(Options{Overrides: map[string]string{name: value}}); err == nil {
			t.Errorf("%s = %s was taken", name, value)
		}
	}
	if got, _ := New(defaults(t), "joe").Show("port"); got != "5432" {
		t.Errorf("one server's override reached another: %s", got)
	}
}

// SHOW ALL has 354 lines on PostgreSQL 15.18 as a superuser. Of these, the 8 that are new in 15, Debian's
// extension_destdir and the 20 that only a superuser sees are not here.
func TestAll(t *testing.T) {
	s := New(defaults(t), "joe")
	_ = s.Set("my.own", "x", false)
	_ = s.Set("work_mem", "1GB", false)
	rows := s.All()
	if len(rows) != 354-8-1-20+1 {
		t.Errorf("%d rows", len(rows))
	}
	if !slices.IsSortedFunc(rows, func(a, b Row) int { return strings.Compare(fold(a.Name), fold(b.Name)) }) {
		t.Error("not sorted")
	}
	want := Row{"work_mem", "1GB", "Sets the maximum memory to be used for query workspaces."}
	if !slices.Contains(rows, want) {
		t.Errorf("%v is missing", want)
	}
	for _, r := range rows {
		if r.Name == "my.own" || r.Name == "data_directory" || r.Name == "role" || r.Description == "" {
			t.Errorf("unexpected %v", r)
		}
	}
}

func TestShowAsPostgreSQL(t *testing.T) {
	s := New(defaults(t), "joe")
	if _, err := s.Show("a.c"); render(err) != `! 42704 "unrecognized configuration parameter \"a.c\""` {
		t.Error(render(err))
	}
	if _, ok, err := s.Lookup("a.c"); ok || err != nil {
		t.Error("a.c is known")
	}
	if _, err := s.Show("Data_Directory"); render(err) != `! 42501 "must be superuser or have privileges of pg_read_all_settings to examine \"data_directory\""` {
		t.Error(render(err))
	}
	if err := s.Reset("a.c"); err != nil { // RESET makes it known
		t.Error(err)
	}
	if v, ok, _ := s.Lookup("A.C"); v != "" || !ok {
		t.Error("a.c is not known after RESET")
	}
	for _, name := range []string{"foo", "max_connections", "server_version", "log_statement", "log_connections", "fsync"} {
		if s.Reset(name) == nil {
			t.Errorf("RESET %s", name)
		}
	}
	if s.Name("TIMEZONE") != "TimeZone" || s.Name("foo") != "foo" {
		t.Error("Name")
	}
}

func TestBranch(t *testing.T) {
	s := New(defaults(t), "joe")
	if err := s.SetStartup("app.branch", "release"); err != nil {
		t.Fatal(err)
	}
	s.Begin()
	if err := s.Set("app.branch", "feature/X", true); err != nil || s.Branch() != "feature/X" {
		t.Errorf("%s %v", s.Branch(), err)
	}
	if err := s.Set("APP.BRANCH", "", true); render(err) != `! 22023 "invalid value for parameter \"app.branch\": \"\""` {
		t.Error(render(err))
	}
	s.Commit()
	if s.Branch() != "release" {
		t.Error("SET LOCAL outlived the transaction")
	}
	_ = s.Set("app.branch", "other", false)
	s.ResetAll()
	if s.Branch() != "release" {
		t.Error("RESET ALL did not restore the start-up value")
	}
}

func TestTypedValuesFollow(t *testing.T) {
	s := New(defaults(t), "joe")
	s.Begin()
	for name, value := range map[string]string{
		"standard_conforming_strings": "off", "statement_timeout": "1.5s", "client_encoding": "latin-1", "timezone": "asia/tokyo",
	} {
		before := s.Version()
		if err := s.Set(name, value, false); err != nil || s.Version() <= before {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s.StandardConformingStrings() || s.StatementTimeout() != 1500*time.Millisecond || s.ClientEncoding() != "LATIN1" || s.TimeZone().String() != "Asia/Tokyo" {
		t.Error("a typed value did not follow SET")
	}
	s.Rollback()
	if !s.StandardConformingStrings() || s.StatementTimeout() != 0 || s.ClientEncoding() != "UTF8" || s.TimeZone() != time.UTC && s.TimeZone().String() != "UTC" {
		t.Error("a typed value did not follow ROLLBACK")
	}
	if _ = s.Set("client_encoding", "UNICODE", false); s.ClientEncoding() != "UTF8" {
		t.Error("UNICODE is not UTF8")
	}
}

// From PostgreSQL 15.18: SET search_path = 'A b', "user", Foo, 5, -1.50, select_x; SHOW search_path, and so on.
func TestFlattenAsPostgreSQL(t *testing.T) {
	s := New(defaults(t), "joe")
	text := func(items ...string) (a []Argument) {
		for _, item := range items {
			a = append(a, Argument{Text: item})
		}
		return a
	}
	path := append(text("A b", "user", "foo"), Argument{"5", true}, Argument{"-1.50", true}, Argument{"select_x", false})
	for _, test := range []struct {
		name      string
		arguments []Argument
		want      string
	}{
		{"search_path", path, `"A b", "user", foo, 5, -1.50, select_x`},
		{"search_path", text(""), `""`},
		{"search_path", text(`a'b"c`, "cross", "int", "bigint", "name", "value", "date"), `"a'b""c", "cross", "int", "bigint", name, value, date`},
		{"datestyle", text("sql", "dmy"), "sql, dmy"},
		{"application_name", text(`a "b"`), `a "b"`},
		{"my.x", text("1"), "1"},
	} {
		if got, err := s.Flatten(test.name, test.arguments); got != test.want {
			t.Errorf("%s %v: %s (%v), want %s", test.name, test.arguments, got, err, test.want)
		}
	}
	for _, name := range []string{"work_mem", "a.b"} {
		if _, err := s.Flatten(name, text("1", "2")); render(err) != fmt.Sprintf(`! 22023 "SET %s takes only one argument"`, name) {
			t.Error(render(err))
		}
	}
}

func TestNotices(t *testing.T) {
	s := New(defaults(t), "joe")
	long := strings.Repeat("é", 40)
	_ = s.Set("application_name", long, false)
	n := s.TakeNotices()
	if len(n) != 1 || n[0].Severity != "NOTICE" || n[0].Code != "42622" ||
		n[0].Message != fmt.Sprintf(`identifier "%s" will be truncated to "%s"`, long, long[:62]) {
		t.Errorf("%v", n)
	}
	if s.TakeNotices() != nil {
		t.Error("a notice came twice")
	}
}

func TestMemoryIsBounded(t *testing.T) {
	d, _ := NewDefaults(Options{MemoryLimit: 100_000})
	s := New(d, "joe")
	for range 10_000 { // replaced values do not count
		if err := s.Set("my.x", strings.Repeat("x", 1000), false); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	for i := 0; i < 1000 && err == nil; i++ {
		err = s.Set(fmt.Sprintf("my.x%d", i), "", false)
	}
	if render(err) != `! 53200 "out of memory" detail="The parameters of a session may take 100000 bytes."` {
		t.Error(render(err))
	}
	if err := s.Set("my.x", strings.Repeat("x", 100_000), false); err == nil {
		t.Error("one value took it all")
	}
	s = New(d, "joe")
	s.Begin()
	for err = nil; err == nil; s.Savepoint() {
		err = s.Reset("my.x")
	}
	if v, _ := s.Show("my.x"); v != "" {
		t.Error("the failing call changed something")
	}
	s.Rollback()
	if err := s.Set("my.x", "1", false); err != nil {
		t.Error(err)
	}
}

func TestAnIdleSessionIsSmall(t *testing.T) {
	d := defaults(t)
	const n = 1000
	sets := make([]*Set, n)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range sets {
		sets[i] = New(d, "joe")
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / n; each >= 500 {
		t.Errorf("a new session takes %d bytes", each)
	}
	s := sets[0]
	if allocations := testing.AllocsPerRun(100, func() { s.Begin(); s.Queried(); s.TakeReports(); s.Commit() }); allocations != 0 {
		t.Errorf("a transaction without SET allocates %v times", allocations)
	}
}

// Whatever a transaction does, ROLLBACK restores every value, and leaves nothing to be told the client in the end.
func TestRollbackRestoresEverything(t *testing.T) {
	d := defaults(t)
	values := map[string][]string{
		"work_mem": {"1MB", "2MB"}, "TimeZone": {"UTC", "Asia/Tokyo", "nonsense"}, "DateStyle": {"SQL", "DMY", "default"},
		"app.branch": {"a", "b", ""}, "transaction_read_only": {"on", "off"}, "client_encoding": {"LATIN1", "SJIS", "x"},
	}
	names := slices.Sorted(maps.Keys(values))
	rapid.Check(t, func(t *rapid.T) {
		s := New(d, "joe")
		set := func() {
			name := rapid.SampledFrom(names).Draw(t, "name")
			value := rapid.SampledFrom(values[name]).Draw(t, "value")
			_ = s.Set(name, value, rapid.Bool().Draw(t, "local"))
		}
		for range rapid.IntRange(0, 3).Draw(t, "before") {
			set()
		}
		s.Reported()
		want, hot := s.All(), s.hot
		s.Begin()
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 7).Draw(t, "step") {
			case 0:
				s.Savepoint()
			case 1:
				s.ReleaseTo(rapid.IntRange(0, 4).Draw(t, "depth"))
			case 2:
				s.RollbackTo(rapid.IntRange(0, 4).Draw(t, "depth"))
			case 3:
				s.ResetAll()
			case 4:
				s.Fail()
			default:
				set()
			}
		}
		s.Rollback()
		if got := s.All(); !slices.Equal(got, want) || s.hot != hot {
			t.Fatalf("got %v, want %v", got, want)
		}
		if reports := s.TakeReports(); reports != nil {
			t.Fatalf("reports %v", reports)
		}
		if s.Depth() != 0 || len(s.changed) != 0 {
			t.Fatal("something is left open")
		}
	})
}

// A parameter takes back what SHOW shows of it: clients save and restore values so.
func FuzzSet(f *testing.F) {
	for _, line := range dataLines(f, "testdata/values.tsv") {
		fields := strings.Split(line, "\t")
		f.Add(fields[0], strings.Trim(fields[1], `"`))
	}
	d := defaults(f)
	f.Fuzz(func(t *testing.T, name, value string) {
		s := New(d, "joe")
		if s.Set(name, value, false) != nil {
			return
		}
		shown, err := s.Show(name)
		if err != nil {
			t.Fatal(err)
		}
		if again := s.Set(name, shown, false); again != nil && fold(name) != "seed" && !strings.HasPrefix(shown, "<") {
			t.Fatalf("%s = %q shows %q: %v", name, value, shown, again)
		}
	})
}
