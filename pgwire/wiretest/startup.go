package wiretest

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Request codes that stand where a start-up packet has its version.
const (
	cancelRequest = 80877102
	sslRequest    = 80877103
	gssRequest    = 80877104
)

// startup is what a connection asks for and how much of the answer is shown.
type startup struct {
	protocol   uint32
	parameters []string // name, value, name, value, …
	tls        bool
	gs2        string
	password   string
	quiet      bool // the password is the target's own: do not show the exchange

	showAll bool     // every ParameterStatus
	show    []string // or those
	view    view
}

// parseProtocol reads "3.2".
func parseProtocol(text string) (uint32, error) {
	majorText, minorText, _ := strings.Cut(text, ".")
	major, err := strconv.ParseUint(majorText, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("protocol %q: %w", text, err)
	}
	minor, err := strconv.ParseUint(minorText, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("protocol %q: %w", text, err)
	}
	return uint32(major<<16 | minor), nil
}

func (s *startup) packet() []byte {
	body := binary.BigEndian.AppendUint32(nil, s.protocol)
	for _, text := range s.parameters {
		body = append(body, cstring(text)...)
	}
	return newFrame(0, append(body, 0))
}

// start opens the session. An error of the server is part of the answer.
func (c *conn) start(s *startup) (*answer, error) {
	a := &answer{}
	if s.tls {
		if err := c.startTLS(a); err != nil {
			return a, a.fault(err)
		}
	}
	if err := c.write(s.packet(), 0); err != nil {
		return a, err
	}
	auth := authentication{conn: c, startup: s}
	for a.last != 'Z' {
		m, err := c.receive()
		if errors.Is(err, io.EOF) {
			a.lines = append(a.lines, "closed")
			return a, nil
		}
		if err != nil {
			return a, a.fault(err)
		}
		a.last = m.typ
		if s.shows(&m) {
			a.lines = append(a.lines, m.render(s.view, nil, c.process))
		}
		if err := auth.take(&m); err != nil {
			return a, a.fault(err)
		}
	}
	return a, nil
}

func (c *conn) startTLS(a *answer) error {
	if err := c.write(request(sslRequest), 0); err != nil {
		return err
	}
	b, err := c.receiveByte()
	if err != nil {
		return err
	}
	a.lines = append(a.lines, fmt.Sprintf("byte %c", b))
	if b != 'S' {
		return nil
	}
	// The certificate is not what wire scripts are about.
	secured := tls.Client(c.net, &tls.Config{InsecureSkipVerify: true})
	if err := secured.SetDeadline(time.Now().Add(c.patience)); err != nil {
		return err
	}
	if err := secured.Handshake(); err != nil {
		return err
	}
	c.net = secured
	c.in.Reset(secured)
	return nil
}

func (s *startup) shows(m *message) bool {
	switch m.typ {
	case 'S':
		return s.showAll || slices.Contains(s.show, m.texts[0])
	case 'R':
		return !s.quiet || m.number == authOK
	}
	return true
}

// authentication follows the start-up answer and its order.
type authentication struct {
	conn    *conn
	startup *startup

	scram    *scram
	verified bool
	accepted bool
	versions int
	failed   bool
}

func (a *authentication) take(m *message) error {
	switch {
	case a.failed:
		return fmt.Errorf("message %q after an error at start-up", m.typ)
	case m.typ == 'N':
		return nil
	case m.typ == 'E':
		a.failed = true
		if v := m.field('V'); v != "FATAL" {
			return fmt.Errorf("an error at start-up is FATAL, not %s", v)
		}
		return nil
	case m.typ == 'v' && !a.accepted:
		a.versions++
		if a.versions > 1 {
			return errors.New("a second NegotiateProtocolVersion")
		}
		return nil
	case m.typ == 'R' && !a.accepted:
		return a.request(m)
	case m.typ == 'S' && a.accepted:
		return nil
	case m.typ == 'K' && a.accepted && a.conn.secret == nil:
		if a.startup.protocol>>16 == 3 && a.startup.protocol&0xffff < 2 && len(m.data) != 4 {
			return fmt.Errorf("a cancel key of %d bytes in protocol 3.0", len(m.data))
		}
		a.conn.process, a.conn.secret = m.number, m.data
		return nil
	case m.typ == 'Z' && a.accepted && a.conn.secret != nil && m.status == 'I':
		return nil
	}
	return fmt.Errorf("message %q out of place at start-up", m.typ)
}

func (a *authentication) request(m *message) error {
	switch m.number {
	case authOK:
		if a.scram != nil && !a.verified {
			return errors.New("AuthenticationOk before SASL was done")
		}
		a.accepted = true
		return nil
	case authCleartext:
		return a.reply(cstring(a.startup.password))
	case authSASL:
		if !slices.Contains(m.texts, "SCRAM-SHA-256") {
			return fmt.Errorf("SCRAM-SHA-256 is not among %v", m.texts)
		}
		a.scram = &scram{gs2: a.startup.gs2, password: a.startup.password}
		first := a.scram.first()
		body := binary.BigEndian.AppendUint32(cstring("SCRAM-SHA-256"), uint32(len(first)))
		return a.reply(append(body, first...))
	case authSASLContinue:
		if a.scram == nil {
			return errors.New("SASLContinue out of place")
		}
		final, err := a.scram.final(m.data)
		if err != nil {
			return err
		}
		return a.reply(final)
	case authSASLFinal:
		if a.scram == nil || a.verified || !bytes.HasPrefix(m.data, []byte("v=")) {
			return errors.New("SASLFinal out of place")
		}
		a.verified = true
		return a.scram.verify(m.data)
	}
	return fmt.Errorf("authentication %d is not known here", m.number)
}

func (a *authentication) reply(body []byte) error {
	return a.conn.write(newFrame('p', body), 0)
}

// cancel sends a CancelRequest on a connection of its own and waits until the
// server hangs up. It returns the bytes that the server answered, which should
// be those to the requests before it only.
func cancel(target *Target, process uint32, secret []byte, before []uint32) (string, error) {
	c, err := dial("cancel", target)
	if err != nil {
		return "", err
	}
	defer func() { _ = c.net.Close() }()
	answered := ""
	for _, code := range before {
		if err := c.write(request(code), 0); err != nil {
			return answered, err
		}
		b, err := c.receiveByte()
		if err != nil {
			return answered, err
		}
		answered += string(b)
	}
	body := binary.BigEndian.AppendUint32(nil, cancelRequest)
	body = binary.BigEndian.AppendUint32(body, process)
	if err := c.write(newFrame(0, append(body, secret...)), 0); err != nil {
		return answered, err
	}
	for {
		b, err := c.receiveByte()
		if errors.Is(err, io.EOF) {
			return answered, nil
		}
		if err != nil {
			return answered, err
		}
		answered += string(b)
	}
}

// request is a packet that has only a code.
func request(code uint32) []byte {
	return newFrame(0, binary.BigEndian.AppendUint32(nil, code))
}
