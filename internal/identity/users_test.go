package identity

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// key32 is some key, in base64.
const key32 = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

func TestUsersFile(t *testing.T) {
	users := parse(t, "\uFEFF; pgbouncer's comment\r\n"+
		"# ours\r\n"+
		"\r\n"+
		"   \"alice\" \"SCRAM-SHA-256$4096:AAAA$"+key32+":"+key32+"\"   ; trailing comment\r\n"+
		"\"bo\"\"b\"\t\"pa;ss \"\"#\"\"\" \"acme\"# tenant\r\n"+
		"\"md5\" \"md5sum of what?\"\n"+
		"\"weiß nicht\" \"x\"")
	want := map[string]string{"alice": "default", `bo"b`: "acme", "md5": "default", "weiß nicht": "default"}
	if users.Len() != len(want) {
		t.Errorf("%d users, want %d", users.Len(), len(want))
	}
	for name, tenant := range want {
		u, ok := users.Lookup(name)
		if !ok || u.Name != name || u.Tenant != tenant {
			t.Errorf("%s: %v %v", name, u, ok)
		}
	}
	if _, ok := users.Lookup("nobody"); ok {
		t.Error("found nobody")
	}
	p, _ := NewPolicy(PolicyOptions{Method: SCRAM, Users: users})
	if err := logInSCRAM(t, p.Begin(`bo"b`, Channel{}, nil), `pa;ss "#"`); err != nil {
		t.Error(err)
	}
}

func TestUsersFileErrors(t *testing.T) {
	const secret = "hunter2"
	tests := []struct{ line, want string }{
		{`alice "hunter2"`, `expected field 1 in double quotes`},
		{`"alice" hunter2`, `expected field 2 in double quotes`},
		{`"alice" "hunter2" hunter2`, `expected field 3 in double quotes`},
		{`"alice"`, `expected a second field, "password" or "verifier", in double quotes`},
		{`"alice" "hunter2`, `field 2 has no closing double quote`},
		{`"alice" "hunter2""`, `field 2 has no closing double quote`},
		{`"alice""hunter2"`, `expected a second field, "password" or "verifier", in double quotes`},
		{`"alice" "hunt"hunter2"`, `unexpected text after field 2 (a double quote inside a field is written twice)`},
		{`"alice" "hunter2" "acme" "hunter2"`, `unexpected text after the third field`},
		{`"" "hunter2"`, `the user name is empty`},
		{"\"\xff\" \"hunter2\"", `the user name is not valid UTF-8`},
		{`"` + strings.Repeat("a", 64) + `" "hunter2"`, `the user name has 64 bytes, and nobody can log in by one of more than 63`},
		{`"` + strings.Repeat("é", 32) + `" "hunter2"`, `the user name has 64 bytes, and nobody can log in by one of more than 63`},
		{`"alice" "hunter2" ""`, `the tenant (third field) must be some valid UTF-8; without the field it is default`},
		{"\"alice\" \"hunter2\x00\"", `the line has a NUL character`},
		{`"first" "hunter2"`, `user "first" is defined on line 1 already`},
		{`"alice" "md50123456789abcdef0123456789abcdef"`, "user \"alice\" has an md5 verifier, which is not supported: " +
			"replace the line by the output of `raisinproxy passwd alice`"},
	}
	bad := `user "alice": malformed SCRAM-SHA-256 verifier, expected SCRAM-SHA-256$<iterations>:<salt>$<stored key>:<server key>`
	for _, verifier := range []string{
		"", "hunter2", "4096:AAAA", "4096:AAAA$" + key32, "4096:AAAA$" + key32 + ":hunter2",
		"0:AAAA$" + key32 + ":" + key32, "-1:AAAA$" + key32 + ":" + key32, "2147483648:AAAA$" + key32 + ":" + key32,
		"4096:$" + key32 + ":" + key32, "4096:?$" + key32 + ":" + key32, "4096:AAAA$" + key32 + ":" + key32 + ":" + key32,
	} {
		tests = append(tests, struct{ line, want string }{`"alice" "SCRAM-SHA-256$` + verifier + `"`, bad})
	}
	for _, tt := range tests {
		_, err := ParseUsers("etc/users.txt", []byte("\"first\" \"x\"\n; comment\n"+tt.line+"\n"))
		if err == nil {
			t.Errorf("%s: accepted", tt.line)
			continue
		}
		if want := "etc/users.txt:3: " + tt.want; err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", tt.line, err, want)
		}
		for _, s := range []string{secret, key32, "0123456789abcdef"} {
			if strings.Contains(err.Error(), s) {
				t.Errorf("%s: the error shows a secret: %v", tt.line, err)
			}
		}
	}
}

func TestUsersFileTellsEveryWrongLine(t *testing.T) {
	_, err := ParseUsers("u", []byte("a\n\"b\" \"x\"\nc\n\"b\" \"y\"\n"))
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("not joined: %v", err)
	}
	var lines []int
	for _, err := range joined.Unwrap() {
		var e *FileError
		if !errors.As(err, &e) {
			t.Fatalf("not a FileError: %v", err)
		}
		lines = append(lines, e.Line)
	}
	if fmt.Sprint(lines) != "[1 3 4]" {
		t.Errorf("lines %v", lines)
	}
}

func TestLoadUsers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.txt")
	if _, err := LoadUsers(path); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte(`"a" "b"`), 0o600); err != nil {
		t.Fatal(err)
	}
	if users, err := LoadUsers(path); err != nil || users.Len() != 1 {
		t.Error(users, err)
	}
}

func TestLineIsReadBack(t *testing.T) {
	for _, name := range []string{"alice", strings.Repeat("a", 63), `a"b`, "; no comment", "# nor this", " spaced ", "émile"} {
		line, err := Line(name, `se"cret`)
		if err != nil {
			t.Fatal(err)
		}
		if err := logInSCRAM(t, policy(t, SCRAM, line, false).Begin(name, Channel{}, nil), `se"cret`); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	for _, name := range []string{"", strings.Repeat("a", 64), "a\nb", "a\rb", "a\x00", "\xff"} {
		if line, err := Line(name, "x"); err == nil {
			t.Errorf("made %q", line)
		}
	}
}

func TestPrintingShowsNoSecret(t *testing.T) {
	users := parse(t, `"bob" "hunter2"`)
	u, _ := users.Lookup("bob")
	p, _ := NewPolicy(PolicyOptions{Method: SCRAM, Users: users})
	x := p.Begin("bob", Channel{}, nil)
	for _, v := range []any{u, *u, users, *users, p, x, *x} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
			if s := fmt.Sprintf(verb, v); strings.Contains(s, "hunter2") {
				t.Errorf("%s of a %T shows the password", verb, v)
			}
		}
	}
}

// The format is written by people and by scripts: nothing in it may end the process,
// and no wrong line may put its secret into the log.
func FuzzUsersFile(f *testing.F) {
	for _, seed := range []string{
		someUsers, `"a" "md50123456789abcdef0123456789abcdef"`, `"a""b" "c" "d" ; e`, "\"a\" \"b\r\n\"", "#\x00",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		users, err := ParseUsers("u", []byte(text))
		if (users == nil) == (err == nil) {
			t.Fatal("either users or an error")
		}
		if err != nil {
			return
		}
		for name, u := range users.byName {
			if name == "" || u.Name != name || u.Tenant == "" {
				t.Fatalf("%q %q %q", name, u.Name, u.Tenant)
			}
			if _, err := Line(name, "x"); err != nil && !strings.ContainsRune(name, '\r') {
				t.Fatalf("%q was read but cannot be written: %v", name, err)
			}
		}
	})
}
