package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"raisinproxy/internal/identity"
)

// letsIn tells whether a users file with this line lets user in with password.
func letsIn(t *testing.T, line, user, password string) bool {
	t.Helper()
	users, err := identity.ParseUsers("line", []byte(line))
	if err != nil {
		t.Fatalf("the line cannot be read: %v", err)
	}
	policy, err := identity.NewPolicy(identity.PolicyOptions{Method: identity.Password, Users: users})
	if err != nil {
		t.Fatal(err)
	}
	x := policy.Begin(user, identity.Channel{Encrypted: true}, nil)
	if _, err := x.Start(); err != nil {
		t.Fatal(err)
	}
	step, err := x.Respond('p', append([]byte(password), 0))
	return err == nil && step.Done
}

func TestPasswdFromStandardInput(t *testing.T) {
	tests := []struct{ name, user, input, password, wantErr string }{
		{"a line", "alice", "pen cil\n", "pen cil", ""},
		{"of Windows", "alice", "pencil\r\n", "pencil", ""},
		{"without an end", "alice", "pencil", "pencil", ""},
		{"only the first", "alice", "pencil\nother\n", "pencil", ""},
		{"a quoted name", `o"neil`, "pencil\n", "pencil", ""},
		{"spaces are kept", "alice", " pencil \n", " pencil ", ""},
		{"anonymous, with a warning", "anonymous", "pencil\n", "pencil", ""},
		{"nothing", "alice", "", "", "no password on standard input"},
		{"an empty line", "alice", "\n", "", "the password is empty"},
		{"NUL", "alice", "a\x00b\n", "", "the password has a NUL character"},
		{"no name", "", "pencil\n", "", "the user name is empty"},
		{"a name that is too long", strings.Repeat("a", 64), "pencil\n", "", "the user name has 64 bytes, and nobody can log in by one of more than 63"},
		{"a line break in the name", "a\nb", "pencil\n", "", "a line of a users file cannot hold line breaks or NUL"},
		{"too long", "alice", strings.Repeat("x", maxPasswordLine+1), "", "the password is too long"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			done := make(chan struct{})
			go func() { fmt.Fprint(w, tt.input); w.Close(); close(done) }()
			var out, prompts strings.Builder
			err = passwd(tt.user, in, &out, &prompts)
			in.Close() // whoever still writes is told
			<-done
			if got := fmt.Sprint(err); got != cmp.Or(tt.wantErr, "<nil>") {
				t.Fatalf("%v, want %q", got, tt.wantErr)
			}
			if said := prompts.String(); tt.user == "anonymous" && !strings.Contains(said, "may call no function") ||
				tt.user != "anonymous" && said != "" {
				t.Errorf("prompts %q without a terminal", said)
			}
			if err == nil && !letsIn(t, out.String(), tt.user, tt.password) {
				t.Errorf("the password does not open %q", out.String())
			}
			if tt.password != "" && strings.Contains(out.String(), tt.password) {
				t.Errorf("the password is printed: %q", out.String())
			}
		})
	}
}

func TestPasswdFromTerminal(t *testing.T) {
	for _, tt := range []struct{ name, first, again, wantErr string }{
		{"twice the same", "pencil", "pencil", "<nil>"},
		{"not the same", "pencil", "pencli", "the two passwords differ"},
		{"empty", "", "", "the password is empty"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			terminal, keyboard := openPTY(t)
			var out strings.Builder
			prompts := &typist{keyboard: keyboard, lines: []string{tt.first, tt.again}}
			err := passwd("alice", terminal, &out, prompts)
			if fmt.Sprint(err) != tt.wantErr {
				t.Fatalf("%v, want %s", err, tt.wantErr)
			}
			if want := "Password for user alice: \nOnce more: \n"; prompts.seen.String() != want {
				t.Errorf("prompts %q, want %q", prompts.seen.String(), want)
			}
			if err == nil && !letsIn(t, out.String(), "alice", tt.first) {
				t.Errorf("the password does not open %q", out.String())
			}
			if !echoes(t, terminal) {
				t.Error("the terminal is left without echo")
			}
		})
	}
}

// typist answers each prompt with a line.
type typist struct {
	keyboard io.Writer
	lines    []string
	seen     bytes.Buffer
}

func (p *typist) Write(b []byte) (int, error) {
	p.seen.Write(b)
	if bytes.HasSuffix(b, []byte(": ")) {
		// Typed ahead of the read: the terminal keeps it.
		line := p.lines[0]
		p.lines = p.lines[1:]
		if _, err := io.WriteString(p.keyboard, line+"\n"); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

func openPTY(t *testing.T) (terminal, keyboard *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { keyboard.Close() })
	fd := int(keyboard.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { terminal.Close() })
	return terminal, keyboard
}

func echoes(t *testing.T, terminal *os.File) bool {
	t.Helper()
	state, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return state.Lflag&unix.ECHO != 0
}
