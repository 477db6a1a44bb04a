package identity

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"
)

// DefaultTenant is the tenant of users whose line names none, and of names that
// are on no line.
const DefaultTenant = "default"

// Users is the content of a users file. It does not change and is safe for
// concurrent use: to reload, read another and give it to Policy.SetUsers.
type Users struct {
	byName map[string]*User
	// mockIterations is what unknown users are told: the most common count of the
	// file's verifiers, so that the count does not tell them from the known.
	mockIterations int
}

// User is one line of a users file. Its secret stays inside: no way of printing a
// User shows it.
type User struct {
	Name   string
	Tenant string
	cred   *credential // nil: listed without a password, and cannot log in with one
	// password is the plaintext, if the line has it.
	password Secret
}

// FileError is one wrong line of a users file. It quotes names, never secrets.
type FileError struct {
	Path    string
	Line    int // from 1
	Problem string
}

func (e *FileError) Error() string { return fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.Problem) }

// LoadUsers reads a users file; see ParseUsers.
func LoadUsers(path string) (*Users, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return ParseUsers(path, text)
}

// ParseUsers reads text in the format of pgbouncer's auth_file, one user a line:
//
//	"user" "SCRAM-SHA-256$4096:salt$stored:server"
//	"user" "plaintext" "tenant"
//	; a comment, # another
//
// A double quote inside a field is written twice. The third field is the proxy's
// own, and optional. An empty secret lists a user who has no password. path only serves in
// messages. The error joins one *FileError for every wrong line (errors.Join).
func ParseUsers(path string, text []byte) (*Users, error) {
	users := &Users{byName: map[string]*User{}}
	definedOn := map[string]int{}
	var problems []error
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	number := 0
	for line := range strings.SplitSeq(string(text), "\n") {
		number++
		user, err := parseLine(line)
		if err == nil && user != nil {
			if first, twice := definedOn[user.Name]; twice {
				err = fmt.Errorf("user %q is defined on line %d already", user.Name, first)
			}
		}
		if err != nil {
			problems = append(problems, &FileError{Path: path, Line: number, Problem: err.Error()})
		} else if user != nil {
			users.byName[user.Name] = user
			definedOn[user.Name] = number
		}
	}
	if problems != nil {
		return nil, errors.Join(problems...)
	}
	users.mockIterations = users.commonIterations()
	return users, nil
}

// Lookup finds a user by the exact name.
func (u *Users) Lookup(name string) (*User, bool) {
	user, ok := u.byName[name]
	return user, ok
}

// Len is the number of users.
func (u *Users) Len() int { return len(u.byName) }

// Line makes a line of a users file, without its line break. It fails for names and
// secrets that the format cannot hold.
func Line(name, secret string) (string, error) {
	if err := checkName(name); err != nil {
		return "", err
	}
	if strings.ContainsAny(name+secret, "\r\n\x00") {
		return "", errors.New("a line of a users file cannot hold line breaks or NUL")
	}
	return quote(name) + " " + quote(secret), nil
}

func quote(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

// String shows the name only, and so do %v and %+v.
func (u *User) String() string { return u.Name }

// GoString shows the name only.
func (u *User) GoString() string { return fmt.Sprintf("identity.User(%q)", u.Name) }

// credential is what to check a connection of this name against. The error, if any,
// is why it must fail in the end.
func (u *Users) credential(listed *User, name string, salts saltSecret) (*credential, error) {
	switch {
	case listed == nil:
		return mockCredential(salts.saltOf(name), u.iterationsOfUnknown()), errUnknownUser
	case listed.cred == nil:
		return mockCredential(salts.saltOf(name), u.iterationsOfUnknown()), errNoSecret
	}
	return listed.cred.salted(salts.saltOf(name)), nil
}

func (u *Users) iterationsOfUnknown() int {
	if u.mockIterations == 0 {
		return defaultIterations
	}
	return u.mockIterations
}

func (u *Users) commonIterations() int {
	count := map[int]int{}
	for _, user := range u.byName {
		if user.cred != nil {
			count[user.cred.iterations]++
		}
	}
	best := defaultIterations
	for n, times := range count {
		// A tie goes to the smaller: the order of a map must decide nothing.
		if times > count[best] || times == count[best] && n < best {
			best = n
		}
	}
	return best
}

// parseLine gives nil for a blank line or a comment.
func parseLine(line string) (*User, error) {
	fields, err := splitFields(line)
	if err != nil || len(fields) == 0 {
		return nil, err
	}
	if len(fields) == 1 {
		return nil, errors.New(`expected a second field, "password" or "verifier", in double quotes`)
	}
	if err := checkName(fields[0]); err != nil {
		return nil, err
	}
	user, err := NewUser(fields[0], fields[1])
	if err != nil {
		return nil, err
	}
	if len(fields) == 3 {
		user.Tenant = fields[2]
		if user.Tenant == "" || !utf8.ValidString(user.Tenant) {
			return nil, errors.New("the tenant (third field) must be some valid UTF-8; without the field it is " + DefaultTenant)
		}
	}
	return user, nil
}

// MaxNameBytes is the length of the longest name that anybody can log in by: clients'
// names are cut there, as PostgreSQL cuts them, so a longer one here would never match.
const MaxNameBytes = 63

func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("the user name is empty")
	case len(name) > MaxNameBytes:
		return fmt.Errorf("the user name has %d bytes, and nobody can log in by one of more than %d", len(name), MaxNameBytes)
	case !utf8.ValidString(name):
		return errors.New("the user name is not valid UTF-8")
	}
	return nil
}

// NewUser makes a user of a name and a secret in one of the forms of a users file, in
// which an empty one is none.
func NewUser(name, secret string) (*User, error) {
	cred, err := parseSecret(name, secret)
	if err != nil {
		return nil, err
	}
	user := &User{Name: name, Tenant: DefaultTenant, cred: cred}
	if cred != nil && !strings.HasPrefix(secret, verifierPrefix) {
		user.password = newSecret(secret)
	}
	return user, nil
}

func parseSecret(user, secret string) (*credential, error) {
	switch {
	case secret == "":
		return nil, nil
	case isMD5(secret):
		return nil, fmt.Errorf("user %q has an md5 verifier, which is not supported: "+
			"replace the line by the output of `raisinproxy passwd %s`", user, user)
	case strings.HasPrefix(secret, verifierPrefix):
		cred, err := parseVerifier(secret)
		if err != nil {
			return nil, fmt.Errorf("user %q: %w", user, err)
		}
		return cred, nil
	}
	return plaintextCredential(secret), nil
}

// isMD5 as PostgreSQL tells it: anything else that begins with md5 is a password.
func isMD5(secret string) bool {
	digits, ok := strings.CutPrefix(secret, "md5")
	return ok && len(digits) == 32 && strings.Trim(digits, "0123456789abcdef") == ""
}

// splitFields cuts a line into at most three fields in double quotes.
func splitFields(line string) ([]string, error) {
	var fields []string
	if strings.ContainsRune(line, 0) {
		return nil, errors.New("the line has a NUL character")
	}
	for {
		line = strings.TrimLeft(line, " \t\r")
		switch {
		case line == "" || line[0] == ';' || line[0] == '#':
			return fields, nil
		case len(fields) == 3:
			return nil, errors.New("unexpected text after the third field")
		case line[0] != '"':
			return nil, fmt.Errorf("expected field %d in double quotes", len(fields)+1)
		}
		field, rest, ok := cutQuoted(line[1:])
		if !ok {
			return nil, fmt.Errorf("field %d has no closing double quote", len(fields)+1)
		}
		if rest != "" && !strings.ContainsRune(" \t\r;#", rune(rest[0])) {
			return nil, fmt.Errorf("unexpected text after field %d (a double quote inside a field is written twice)", len(fields)+1)
		}
		fields, line = append(fields, field), rest
	}
}

// cutQuoted reads to the closing quote of a field whose opening quote was read.
func cutQuoted(s string) (field, rest string, ok bool) {
	var b strings.Builder
	for {
		part, after, found := strings.Cut(s, `"`)
		if !found {
			return "", "", false
		}
		b.WriteString(part)
		if !strings.HasPrefix(after, `"`) {
			return b.String(), after, true
		}
		b.WriteByte('"')
		s = after[1:]
	}
}
