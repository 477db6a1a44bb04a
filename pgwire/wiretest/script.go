package wiretest

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// script is the state of one file's run.
type script struct {
	newTarget func(options map[string]string) Target
	target    *Target
	conns     map[string]*conn
	variables map[string]string
	masks     []mask
}

func (s *script) server() *Target {
	if s.target == nil {
		target := s.newTarget(nil)
		s.target = &target
	}
	return s.target
}

// run executes one command and returns what it prints.
func (s *script) run(command string, args *arguments, input string) (string, error) {
	input, err := expand(input, s.variables)
	if err != nil {
		return "", err
	}
	switch command {
	case "server":
		return "", s.configure(args)
	case "mask":
		masks, err := parseMasks(args.rest())
		s.masks = append(s.masks, masks...)
		return "", err
	case "advance":
		return "", s.advance(args)
	case "fault":
		return s.fault(args)
	case "connect":
		return s.connect(args, input)
	case "raw":
		return "", s.raw(args.connection(), args.flag("tls"))
	}
	name := args.connection()
	c := s.conns[name]
	if c == nil {
		return "", fmt.Errorf("no connection %q: connect it first", name)
	}
	switch command {
	case "query":
		return s.exchange(c, args, []frame{{debt{kind: 'Q'}, newFrame('Q', cstring(input))}}, true)
	case "async":
		return s.exchange(c, args, []frame{{debt{kind: 'Q'}, newFrame('Q', cstring(input))}}, false)
	case "extended":
		frames, err := parseExtended(input)
		if err != nil {
			return "", err
		}
		return s.exchange(c, args, frames, !args.flag("async"))
	case "await":
		return s.await(c, args)
	case "send":
		return s.send(c, args, input)
	case "cancel":
		return s.cancel(c, args)
	case "close":
		return s.close(c, args)
	}
	return "", fmt.Errorf("no such command")
}

func (s *script) configure(args *arguments) error {
	if s.target != nil {
		return fmt.Errorf("the server is already running")
	}
	options := map[string]string{}
	for _, arg := range args.rest() {
		options[arg.Key] = strings.Join(arg.Vals, ",")
	}
	target := s.newTarget(options)
	s.target = &target
	return nil
}

func (s *script) advance(args *arguments) error {
	rest := args.rest()
	if len(rest) != 1 {
		return fmt.Errorf("give one duration")
	}
	d, err := time.ParseDuration(rest[0].Key)
	if err != nil {
		return err
	}
	if s.server().Advance == nil {
		return fmt.Errorf("this server's clock cannot be moved")
	}
	s.server().Advance(d)
	return nil
}

func (s *script) fault(args *arguments) (string, error) {
	if s.server().Fault == nil {
		return "", fmt.Errorf("this server has no faults")
	}
	var words []string
	for _, arg := range args.rest() {
		words = append(words, arg.String())
	}
	return s.server().Fault(words)
}

func (s *script) connect(args *arguments, input string) (string, error) {
	name := args.connection()
	request, err := s.startup(args, input)
	if err != nil {
		return "", err
	}
	if err := s.raw(name, false); err != nil {
		return "", err
	}
	c := s.conns[name]
	c.ledger.unchecked = false
	a, err := c.start(request)
	if err != nil {
		return "", err
	}
	if c.closed {
		s.drop(c)
	}
	return s.print(args, a)
}

// startup reads the arguments of `connect`.
func (s *script) startup(args *arguments, input string) (*startup, error) {
	user := args.text("user", "alice")
	request := &startup{
		view:    args.view(),
		tls:     args.flag("tls"),
		gs2:     args.text("gs2", "n") + ",,",
		showAll: args.bare("params"),
		show:    args.list("params"),
	}
	protocol, err := parseProtocol(args.text("protocol", "3.0"))
	if err != nil {
		return nil, err
	}
	request.protocol = protocol
	request.password, request.quiet = s.server().Passwords[user]
	if args.has("password") {
		request.password, request.quiet = args.text("password", ""), false
	}
	add := func(key, value string) {
		if value != "-" {
			request.parameters = append(request.parameters, key, value)
		}
	}
	add("user", user)
	add("database", args.text("database", "shop"))
	for _, arg := range args.restBut("mask", "let") {
		add(arg.Key, strings.Join(arg.Vals, ","))
	}
	for line := range strings.Lines(input) {
		key, value, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		request.parameters = append(request.parameters, key, value)
	}
	return request, nil
}

// raw opens a TCP connection under a name that is free, with TLS if the server has it.
func (s *script) raw(name string, secure bool) error {
	if s.conns[name] != nil {
		return fmt.Errorf("connection %q is open: close it first, or choose conn=NAME", name)
	}
	c, err := dial(name, s.server())
	if err != nil {
		return err
	}
	c.ledger.unchecked = true
	s.conns[name] = c
	if secure {
		return c.startTLS(&answer{})
	}
	return nil
}

// exchange sends frames in one write and prints the answers that the last of
// them to ask for it (Sync, Query, Flush, the end of a COPY) makes the server give.
func (s *script) exchange(c *conn, args *arguments, frames []frame, wait bool) (string, error) {
	if c.ledger.unchecked {
		return "", fmt.Errorf("connection %q got frames by hand and no ReadyForQuery since: use send", c.name)
	}
	var out []byte
	keep, flushed, fed, terminated := 0, len(frames) == 0, false, false
	for _, f := range frames {
		out = append(out, f.bytes...)
		if f.owes() {
			d := f.debt
			c.ledger.sent(&d)
			keep++
		}
		if f.flushes() {
			keep, flushed = 0, true
		}
		if f.endsCopy() {
			fed = true
			flushed = c.ledger.copyEnds() || flushed
		}
		terminated = terminated || f.debt.kind == 'X'
	}
	if err := c.write(out, args.number("chunk")); err != nil {
		return "", err
	}
	a := &answer{}
	settled := c.settled(keep)
	// A COPY that this command does not end: the next one has its data.
	fed = fed || len(frames) == 0
	done := func() bool { return settled() || !fed && c.ledger.feeding() }
	if terminated {
		done = func() bool { return false }
	}
	if wait && (flushed || terminated) {
		if err := c.collect(a, args.view(), done); err != nil {
			return "", err
		}
	}
	if c.closed {
		s.drop(c)
	}
	return s.print(args, a)
}

// await reads what is still owed, or unprompted messages up to one of a type.
func (s *script) await(c *conn, args *arguments) (string, error) {
	types := args.text("read", "")
	if types == "" {
		return s.exchange(c, args, nil, true)
	}
	a := &answer{}
	if err := c.collect(a, args.view(), a.until(types)); err != nil {
		return "", err
	}
	if c.closed {
		s.drop(c)
	}
	return s.print(args, a)
}

// send writes frames made by hand and prints what comes until the given message
// types were seen in that order.
func (s *script) send(c *conn, args *arguments, input string) (string, error) {
	out, err := parseFrames(input)
	if err != nil {
		return "", err
	}
	c.ledger.unchecked = true
	if err := c.write(out, args.number("chunk")); err != nil {
		return "", err
	}
	a := &answer{}
	switch until := args.text("read", "Z"); until {
	case "none":
		return "", nil
	case "byte":
		if b, err := c.receiveByte(); errors.Is(err, io.EOF) {
			a.lines = append(a.lines, "closed")
		} else if err != nil {
			return "", err
		} else {
			a.lines = append(a.lines, fmt.Sprintf("byte %c", b))
		}
	case "raw":
		var all []byte
		all, err = c.receiveAll()
		a.lines = append(a.lines, "bytes "+quote(string(all)), "closed")
	case "close":
		err = c.collect(a, args.view(), func() bool { return false })
	default:
		err = c.collect(a, args.view(), a.until(until))
	}
	if err != nil {
		return "", err
	}
	if a.sawReady() {
		c.ledger.unchecked, c.ledger.discarding, c.ledger.owed = false, false, nil
	}
	if c.closed {
		s.drop(c)
	}
	return s.print(args, a)
}

// until is true once messages of these types have come, in this order.
func (a *answer) until(types string) func() bool {
	return func() bool {
		if types != "" && a.last == types[0] {
			types, a.last = types[1:], 0
		}
		return types == ""
	}
}

// sawReady is true where the answer ends with ReadyForQuery.
func (a *answer) sawReady() bool {
	return len(a.lines) > 0 && strings.HasPrefix(a.lines[len(a.lines)-1], "Z ")
}

// cancel asks the server to stop what the connection runs. With a query under way
// it asks again until there is an answer, for a server may see the request
// before it sees the query. A script that knows the query runs says once: asking
// again could hit what comes after it, or the handler that caught the first.
func (s *script) cancel(c *conn, args *arguments) (string, error) {
	process, secret := c.process, slices.Clone(c.secret)
	wrong, once := args.text("key", "") == "wrong", args.flag("once")
	if wrong && len(secret) > 0 {
		secret[0] ^= 0xff
	}
	var before []uint32
	switch after := args.text("after", ""); after {
	case "":
	case "ssl":
		before = []uint32{sslRequest}
	case "gss":
		before = []uint32{gssRequest}
	default:
		return "", fmt.Errorf("after=%s: ssl and gss are known", after)
	}
	deadline := time.Now().Add(s.server().patience())
	for {
		answered, err := cancel(s.server(), process, secret, before)
		if err != nil {
			return "", err
		}
		output := ""
		if answered != "" {
			output = "byte " + answered + "\n"
		}
		output += "closed\n"
		if wrong || once || len(c.ledger.owed) == 0 {
			return output, nil
		}
		if arrived, err := c.waiting(50 * time.Millisecond); arrived || err != nil {
			return output, err
		}
		if time.Now().After(deadline) {
			return "", fmt.Errorf("the query goes on after %v of cancelling", s.server().patience())
		}
	}
}

// close ends a connection; whatever else the server had sent is out of place.
func (s *script) close(c *conn, args *arguments) (string, error) {
	if args.flag("abrupt") {
		defer s.drop(c)
		return "", c.net.Close()
	}
	a, err := s.terminate(c)
	if err != nil {
		return "", err
	}
	return s.print(args, a)
}

func (s *script) terminate(c *conn) (*answer, error) {
	defer s.drop(c)
	a := &answer{}
	if len(c.ledger.owed) > 0 && !c.ledger.unchecked {
		return a, fmt.Errorf("connection %q: an answer to %q is owed: await it first", c.name, c.ledger.owed[0].kind)
	}
	if err := c.write(newFrame('X', nil), 0); err != nil {
		return a, err
	}
	err := c.collect(a, view{}, func() bool { return false })
	if err != nil {
		err = fmt.Errorf("connection %q: %w", c.name, err)
	}
	return a, err
}

// end closes what the script left open, with a last look for stray messages.
// A raw connection may wait for more than a Terminate, so it is just dropped.
func (s *script) end() error {
	for _, name := range slices.Sorted(maps.Keys(s.conns)) {
		c := s.conns[name]
		if c.ledger.unchecked {
			s.drop(c)
			continue
		}
		if _, err := s.terminate(c); err != nil {
			return err
		}
	}
	return nil
}

// abandon closes every socket that is still open.
func (s *script) abandon() {
	for _, c := range s.conns {
		s.drop(c)
	}
}

func (s *script) drop(c *conn) {
	_ = c.net.Close()
	delete(s.conns, c.name)
}

// print applies what the arguments say about the output.
func (s *script) print(args *arguments, a *answer) (string, error) {
	if err := args.capture(a, s.variables); err != nil {
		return "", a.fault(err)
	}
	masks, err := parseMasks(args.masks())
	if err != nil {
		return "", err
	}
	masks = append(masks, s.masks...)
	lines := slices.Clone(a.lines)
	for i, line := range lines {
		line = showVariables(line, s.variables)
		for _, m := range masks {
			line = m.pattern.ReplaceAllString(line, m.instead)
		}
		lines[i] = line
	}
	if args.view().brief {
		lines = shorten(lines)
	}
	if len(lines) == 0 {
		return "", nil
	}
	return strings.Join(lines, "\n") + "\n", nil
}
