package wiretest

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

func rewriting() bool { return flag.Lookup("rewrite").Value.String() == "true" }

// run runs the rows of a section, each as a subtest.
func (s *section) run(t *testing.T, server string, newTarget NewTarget) {
	shared := s.script(t, newTarget)
	for _, r := range s.rows {
		t.Run(r.what, func(t *testing.T) {
			variants, err := r.variants()
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range variants {
				sc := shared
				if s.authenticates() {
					// Who fails to log in again and again from one address is kept waiting.
					sc = s.script(t, newTarget)
				}
				answer, ending, err := s.try(sc, v)
				switch {
				case err != nil:
					t.Fatalf("line %d: %s: %v", r.number+1, v.sent, err)
				case rewriting() && s.servers[0] == server:
					r.answer, r.ending = answer, ending
				case answer != r.answer || ending != r.ending:
					t.Errorf("line %d: %s\n got %s, %s\nwant %s, %s", r.number+1, v.sent, answer, ending, r.answer, r.ending)
				}
			}
		})
	}
}

// authenticates says whether the section's clients have to.
func (s *section) authenticates() bool {
	method := s.options["auth"]
	return method != "" && method != "trust"
}

// script is what the rows of a section run with.
func (s *section) script(t *testing.T, newTarget NewTarget) *script {
	target := newTarget(t, s.options)
	return &script{target: &target, conns: map[string]*conn{}, variables: map[string]string{}}
}

// try sends what a row says on a connection of its own and returns the answer. The
// server has to serve another client afterwards, and to have let this one go.
func (s *section) try(sc *script, v variant) (answer, ending string, err error) {
	defer sc.abandon()
	before, err := s.start(sc)
	if err != nil {
		return "", "", fmt.Errorf("before the row: %w", err)
	}
	c := sc.conns["a"]
	if c == nil {
		return "", "", fmt.Errorf("before the row: no connection: %s", before)
	}
	lines, ending, err := s.exchange(c, v.sent)
	if err != nil {
		return "", "", err
	}
	sc.abandon()
	if err := s.serves(sc); err != nil {
		return "", "", fmt.Errorf("a new client afterwards: %w", err)
	}
	if settled := sc.target.Settled; settled != nil {
		err = settled()
	}
	return v.generalize(strings.Join(lines, "; ")), ending, err
}

// start runs the section's commands.
func (s *section) start(sc *script) (output string, err error) {
	for _, c := range s.commands {
		said, err := sc.command(c.line, c.input)
		output += said
		if err != nil {
			return output, fmt.Errorf("%s: %w", c.line, err)
		}
	}
	return output, nil
}

// serves lets a new client do its work.
func (s *section) serves(sc *script) error {
	who := "user=alice"
	if s.authenticates() {
		who = "user=carol password=" + Passwords["carol"]
	}
	connected, err := sc.command("connect conn=new tls "+who, "")
	if err != nil {
		return err
	}
	answer, err := sc.command("query conn=new", "select 1")
	if err != nil || !strings.HasSuffix(answer, "Z I\n") {
		return errors.Join(err, errors.New(connected+answer))
	}
	return sc.end()
}

// command runs a command that stands in a line of its own.
func (s *script) command(line, input string) (output string, err error) {
	name, all, err := datadriven.ParseLine(line)
	if err != nil {
		return "", err
	}
	args, err := parseArgs(all)
	if err != nil {
		return "", err
	}
	return s.run(name, args, input)
}

// mark follows what a row sends, so that it shows whether the connection goes on, and
// that each Sync has one ReadyForQuery.
const (
	mark       = `S; Q cstr("rollback; select 'goes on'")`
	markAnswer = "D ['goes on']"
	eof        = "eof"
)

// exchange sends what a row says, then the mark, and returns what came before the
// answer to that.
func (s *section) exchange(c *conn, sent string) (lines []string, ending string, err error) {
	sent, ends := strings.CutSuffix(sent, eof)
	if !ends {
		sent += "\n" + s.then + "\n" + mark
	}
	sent, err = expand(sent, nil)
	if err != nil {
		return nil, "", err
	}
	out, err := parseFrames(sent)
	if err != nil {
		return nil, "", err
	}
	c.ledger.unchecked = true
	if err := c.write(out, 0); err != nil {
		return nil, "", err
	}
	if half, ok := c.net.(interface{ CloseWrite() error }); ok && ends {
		if err := half.CloseWrite(); err != nil && !hungUp(err) && !errors.Is(err, net.ErrClosed) {
			return nil, "", err
		}
	}
	a := &answer{}
	if s.then != "" {
		if err := c.collectUnframed(a); err != nil {
			return nil, "", err
		}
	}
	if err := c.collect(a, view{hide: "S"}, a.sawMark); err != nil {
		return nil, "", err
	}
	if i := slices.Index(a.lines, markAnswer); i >= 0 {
		return s.withoutMark(a.lines[:i]), goesOn, nil
	}
	if len(a.lines) == 0 || a.lines[len(a.lines)-1] != closed {
		return nil, "", a.fault(errors.New("no end"))
	}
	return a.lines[:len(a.lines)-1], closed, nil
}

// sawMark is true after the whole answer to the mark.
func (a *answer) sawMark() bool { return a.sawReady() && slices.Contains(a.lines, markAnswer) }

// withoutMark cuts the ReadyForQuery of the mark's Sync and what follows it, and, where
// the session was yet to come, the greeting.
func (s *section) withoutMark(lines []string) []string {
	for i, line := range slices.Backward(lines) {
		if strings.HasPrefix(line, "Z ") {
			lines = lines[:i]
			break
		}
	}
	if i := slices.Index(lines, "R Ok"); s.then != "" && i >= 0 {
		lines = lines[:i]
	}
	return lines
}

// collectUnframed reads what may be answered before the start-up packet without a frame:
// one byte to each request for encryption, or an error in the form of protocol 2.
func (c *conn) collectUnframed(a *answer) error {
	if err := c.net.SetReadDeadline(time.Now().Add(c.patience)); err != nil {
		return err
	}
	for {
		head, err := c.in.Peek(2)
		switch {
		case err != nil && !errors.Is(err, io.EOF) && !hungUp(err):
			return c.readError(err)
		case len(head) == 2 && string(head) == "EF":
			all, err := c.receiveAll()
			a.lines = append(a.lines, quote(string(all)), closed)
			return err
		case len(head) > 0 && strings.IndexByte("NSG", head[0]) >= 0:
			b, err := c.receiveByte()
			if err != nil {
				return err
			}
			a.lines = append(a.lines, "byte "+string(b))
		default:
			return nil
		}
	}
}
