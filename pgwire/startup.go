package pgwire

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/backend"
	"raisinproxy/pgwire/auth"
	"raisinproxy/pgwire/settings"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// The codes of the first packet, where the protocol version stands.
// https://www.postgresql.org/docs/current/protocol-message-formats.html
const (
	protocolVersion = 3 << 16
	cancelRequest   = 1234<<16 | 5678
	sslRequest      = 1234<<16 | 5679
	gssencRequest   = 1234<<16 | 5680
	tlsDirect       = 0 // a TLS hand-shake without asking first; no packet has this code
)

// tlsHandshake is the first byte of a TLS connection, and of no start-up packet: its
// length would be too large.
const tlsHandshake = 22

// ALPN is the name of this protocol in a TLS hand-shake.
const ALPN = "postgresql"

// maxStartupBytes is PostgreSQL's MAX_STARTUP_PACKET_LENGTH, and the limit of
// every message before authentication.
const maxStartupBytes = 10000

// errNoSession ends a connection that wanted none: it sent a cancel request, or
// nothing that could be answered.
var errNoSession = errors.New("no session was started")

// startupParameter is one name and value of the start-up packet.
type startupParameter struct{ name, value string }

// startup brings a connection from its first byte to ReadyForQuery. An error
// that is a *pgerr.Error is to be told to the client.
func (s *session) startup() error {
	if s.server.cfg.StartupTimeout > 0 {
		s.startBy = time.Now().Add(s.server.cfg.StartupTimeout)
		s.conn.SetDeadline(s.startBy)
	}
	if s.stopping.Load() {
		return errShutdown
	}
	version, packet, err := s.negotiate()
	if err != nil {
		return err
	}
	parameters, err := s.readParameters(version, packet)
	if err != nil {
		return err
	}
	if err := s.server.admit(); err != nil {
		return err
	}
	s.admitted = true
	if err := s.authenticate(parameters); err != nil {
		return err
	}
	if err := s.server.reserved(s.caller.User); err != nil {
		return err
	}
	if s.server.cfg.Upstream != nil {
		err = s.prepareUpstream(parameters)
	} else {
		err = s.applyParameters(parameters)
	}
	if err != nil {
		return err
	}
	s.conn.SetDeadline(time.Time{})
	if s.stopping.Load() {
		return errShutdown
	}
	s.in.limit = s.server.cfg.MaxMessageBytes
	s.greet()
	return nil
}

// negotiate answers the requests that may come before the start-up packet and
// returns that packet. Each of TLS and GSS encryption may be asked for once.
func (s *session) negotiate() (version uint32, packet []byte, err error) {
	askedTLS, askedGSS := false, false
	for {
		code, body, err := s.readStartupPacket()
		if err != nil {
			return 0, nil, err
		}
		switch {
		case code == cancelRequest && len(body) == 8:
			s.server.cancel(int32(binary.BigEndian.Uint32(body)), binary.BigEndian.Uint32(body[4:]))
			return 0, nil, errNoSession
		case code == cancelRequest:
			return 0, nil, errNoSession
		case code == tlsDirect && !askedTLS && !askedGSS:
			askedTLS = true
			if err := s.acceptDirectTLS(body); err != nil {
				return 0, nil, err
			}
		case code == sslRequest && !askedTLS:
			askedTLS = true
			if err := s.offerTLS(); err != nil {
				return 0, nil, err
			}
		case code == gssencRequest && !askedGSS:
			askedGSS = true
			if _, err := s.conn.Write([]byte{'N'}); err != nil {
				return 0, nil, errNoSession
			}
		case code>>16 < protocolVersion>>16:
			s.refuseOldProtocol(code)
			return 0, nil, errNoSession
		case code>>16 != protocolVersion>>16:
			return 0, nil, pgerr.Fatalf(codes.FeatureNotSupported, "unsupported frontend protocol %d.%d: server supports 3.0 to 3.0", code>>16, code&0xFFFF)
		default:
			return code, body, nil
		}
	}
}

// refuseOldProtocol answers a client of protocol 2, in the form of that protocol.
func (s *session) refuseOldProtocol(code uint32) {
	s.out.buf = fmt.Appendf(s.out.buf, "EFATAL:  unsupported frontend protocol %d.%d: server supports 3.0 to 3.0\n\x00", code>>16, code&0xFFFF)
	s.farewell()
}

// readStartupPacket reads a packet that has no type byte. Nothing is answered to
// a length that cannot be true: whoever sent it does not speak this protocol.
func (s *session) readStartupPacket() (code uint32, body []byte, err error) {
	var head [4]byte
	if _, err := io.ReadFull(s.conn, head[:]); err != nil {
		return 0, nil, errNoSession
	}
	if head[0] == tlsHandshake && !s.channel.Encrypted {
		return tlsDirect, head[:], nil
	}
	length := binary.BigEndian.Uint32(head[:])
	if length < 8 || length > maxStartupBytes+4 {
		s.log.Debug("invalid length of startup packet", "length", length)
		return 0, nil, errNoSession
	}
	body = make([]byte, length-4)
	if _, err := io.ReadFull(s.conn, body); err != nil {
		return 0, nil, errNoSession
	}
	return binary.BigEndian.Uint32(body), body[4:], nil
}

// offerTLS answers an SSLRequest. Nothing was read beyond the request, so bytes
// that an attacker put after it are read as part of the hand-shake, and fail it.
func (s *session) offerTLS() error {
	config := s.server.tlsConfig()
	if config == nil {
		if _, err := s.conn.Write([]byte{'N'}); err != nil {
			return errNoSession
		}
		return nil
	}
	if _, err := s.conn.Write([]byte{'S'}); err != nil {
		return errNoSession
	}
	return s.secure(config)
}

// acceptDirectTLS takes a hand-shake that nobody asked for first (sslnegotiation=direct).
// It has to name our protocol: whoever sends another one here has been led astray.
func (s *session) acceptDirectTLS(read []byte) error {
	config := s.server.tlsConfig()
	if config == nil {
		return errNoSession
	}
	s.conn = &unreadConn{Conn: s.conn, read: append([]byte{}, read...)}
	if err := s.secure(config); err != nil {
		return err
	}
	if s.conn.(*tls.Conn).ConnectionState().NegotiatedProtocol != ALPN {
		s.log.Debug("a direct TLS connection without ALPN")
		return errNoSession
	}
	return nil
}

// unreadConn is a connection of which something has been read already.
type unreadConn struct {
	net.Conn
	read []byte
}

func (c *unreadConn) Read(b []byte) (int, error) {
	if len(c.read) == 0 {
		return c.Conn.Read(b)
	}
	n := copy(b, c.read)
	c.read = c.read[n:]
	return n, nil
}

// secure makes the connection one over TLS.
func (s *session) secure(config *tls.Config) error {
	secured := tls.Server(s.conn, config)
	if err := secured.HandshakeContext(s.ctx); err != nil {
		s.log.Debug("TLS hand-shake failed", "error", err)
		return errNoSession
	}
	s.conn = secured
	s.channel = auth.Channel{Encrypted: true, EndPoint: endPoint(config)}
	if chains := secured.ConnectionState().VerifiedChains; len(chains) > 0 {
		s.channel.Client = chains[0][0]
	}
	return nil
}

// endPoint is what a client can bind its authentication to: the server's certificate,
// of which there is one.
func endPoint(config *tls.Config) []byte {
	if len(config.Certificates) != 1 || len(config.Certificates[0].Certificate) == 0 {
		return nil
	}
	cert, err := x509.ParseCertificate(config.Certificates[0].Certificate[0])
	if err != nil {
		return nil
	}
	return auth.EndPoint(cert)
}

// readParameters reads the start-up packet and says what of it is not understood:
// a later minor version, or protocol options, are negotiated down.
func (s *session) readParameters(version uint32, packet []byte) ([]startupParameter, error) {
	if len(packet) == 0 || packet[len(packet)-1] != 0 {
		return nil, pgerr.Fatalf(codes.ProtocolViolation, "invalid startup packet layout: expected terminator as last byte")
	}
	var parameters []startupParameter
	var unknown []string
	m := message{rest: packet}
	for {
		name := string(m.text())
		if name == "" {
			break
		}
		value := string(m.text())
		if strings.HasPrefix(name, "_pq_.") {
			unknown = append(unknown, name)
			continue
		}
		if name == "replication" && value != "database" {
			if _, ok := datum.ParseBool(value); !ok {
				return nil, pgerr.Fatalf(codes.InvalidParameterValue, "invalid value for parameter \"replication\": \"%s\"", value).
					WithHint("Valid values are: \"false\", 0, \"true\", 1, \"database\".")
			}
		}
		parameters = append(parameters, startupParameter{name, value})
	}
	if m.done() != nil {
		return nil, pgerr.Fatalf(codes.ProtocolViolation, "invalid startup packet layout: expected terminator as last byte")
	}
	if version > protocolVersion || len(unknown) > 0 {
		s.out.message(&pgproto3.NegotiateProtocolVersion{NewestMinorProtocol: protocolVersion, UnrecognizedOptions: unknown})
	}
	return parameters, nil
}

// authenticate finds out who the client is, and in which scope it works.
func (s *session) authenticate(parameters []startupParameter) error {
	var user, database string
	for _, p := range parameters {
		switch p.name {
		case "user":
			user = datum.TruncateName(p.value)
		case "database":
			database = p.value // not truncated: two scopes must not become one
		}
	}
	if user == "" {
		return pgerr.Fatalf(codes.InvalidAuthorizationSpecification, "no PostgreSQL user name specified in startup packet")
	}
	if database == "" {
		database = user
	}
	if s.server.cfg.RequireTLS && !s.channel.Encrypted {
		return pgerr.Fatalf(codes.InvalidAuthorizationSpecification, "this server requires TLS").WithHint("Connect with sslmode=require or stronger.")
	}
	identity, err := s.identify(user)
	if err != nil {
		return err
	}
	s.vars = settings.New(s.server.defaults, identity.User)
	s.caller = sqlfuncs.Caller{
		User:  identity.User,
		Scope: backend.Scope{Tenant: identity.Tenant, Repository: database},
	}
	s.password = identity.Password
	s.log = s.log.With("user", identity.User, "database", database)
	return nil
}

// identify drives the exchange of the policy's method.
func (s *session) identify(user string) (auth.Identity, error) {
	from := networkOf(s.conn.RemoteAddr())
	if !s.pause(s.server.throttle.delay(from, time.Now())) {
		return auth.Identity{}, errNoSession
	}
	id, err := s.converse(s.server.cfg.Policy.Begin(user, s.channel, s.lookUp(user)), user)
	if e, ok := errors.AsType[*pgerr.Error](err); ok {
		s.server.throttle.failed(from, time.Now())
		reason := err
		if e.Cause != nil {
			reason = e.Cause
		}
		s.log.Warn("authentication failed", "user", user, "sqlstate", string(e.Code), "reason", reason)
	}
	return id, err
}

// pause waits, unless the client goes away or the time for its start-up is over.
func (s *session) pause(d time.Duration) bool {
	if d == 0 {
		return true
	}
	err := s.waiting(func(ctx context.Context) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	s.conn.SetDeadline(s.startBy)
	return err == nil
}

// lookUp asks the upstream for a user that the users file does not have; nil if there
// is no such user. To the client one that cannot be asked for looks like a wrong
// password, not like an upstream that is down.
func (s *session) lookUp(user string) *auth.User {
	if s.server.cfg.LookUp == nil || !s.server.cfg.Policy.Asks(user) {
		return nil
	}
	found, err := s.server.cfg.LookUp(s.ctx, user)
	if err != nil {
		s.log.Error("a user cannot be looked up", "user", user, "error", err)
	}
	return found
}

// converse moves the messages of an exchange.
func (s *session) converse(exchange *auth.Exchange, user string) (auth.Identity, error) {
	step, err := exchange.Start()
	for err == nil {
		for _, m := range step.Messages {
			s.out.message(m)
		}
		if step.Done {
			return exchange.Identity(), nil
		}
		if err := s.flush(); err != nil {
			return auth.Identity{}, errNoSession
		}
		kind, body, readErr := s.awaitFrame()
		if errors.Is(readErr, errLength) {
			return auth.Identity{}, pgerr.Fatalf(codes.InvalidPassword, "password authentication failed for user \"%s\"", user)
		}
		if readErr != nil {
			return auth.Identity{}, readErr
		}
		step, err = exchange.Respond(kind, body)
		s.in.skip(body)
	}
	return auth.Identity{}, err
}

// awaitFrame blocks until one whole frame has arrived.
func (s *session) awaitFrame() (kind byte, body []byte, err error) {
	for {
		kind, body, ok, bad := s.in.peek()
		if bad != nil {
			return 0, nil, bad
		}
		if ok {
			return kind, body, nil
		}
		if err := s.in.fill(s.conn); err != nil {
			return 0, nil, errNoSession
		}
	}
}

// applyParameters makes the client's settings the ones that RESET goes back to.
// Those of options come first, so that a parameter of its own wins.
func (s *session) applyParameters(parameters []startupParameter) error {
	for _, p := range parameters {
		if p.name != "options" {
			continue
		}
		parsed, err := parseOptions(p.value)
		if err != nil {
			return err
		}
		for _, o := range parsed {
			if err := s.vars.SetStartup(o.name, o.value); err != nil {
				return fatal(err)
			}
		}
	}
	for _, p := range parameters {
		switch p.name {
		case "user", "database", "options":
		case "replication":
			if on, ok := datum.ParseBool(p.value); !ok || on {
				return pgerr.Fatalf(codes.FeatureNotSupported, "a replication connection needs an [upstream]")
			}
		default:
			if err := s.vars.SetStartup(p.name, p.value); err != nil {
				return fatal(err)
			}
		}
	}
	return nil
}

func fatal(err error) error {
	e := *pgerr.From(err)
	e.Severity = pgerr.SeverityFatal
	return &e
}

// parseOptions reads the command-line arguments that the start-up packet's
// options stand for: -c name=value and --name=value, with backslashes before
// blanks that do not separate.
func parseOptions(options string) ([]startupParameter, error) {
	var parsed []startupParameter
	words := splitOptions(options)
	for i := 0; i < len(words); i++ {
		word := words[i]
		var setting, flag string
		switch {
		case word == "-c" && i+1 < len(words):
			i++
			setting, flag = words[i], "-c "
		case strings.HasPrefix(word, "-c") && word != "-c":
			setting, flag = word[2:], "-c "
		case strings.HasPrefix(word, "--") && word != "--":
			setting, flag = word[2:], "--"
		default:
			return nil, pgerr.Fatalf(codes.Syntax, "invalid command-line argument for server process: %s", word).
				WithHint("Try \"postgres --help\" for more information.")
		}
		name, value, ok := strings.Cut(setting, "=")
		if !ok {
			return nil, pgerr.Fatalf(codes.Syntax, "%s%s requires a value", flag, setting)
		}
		parsed = append(parsed, startupParameter{strings.ReplaceAll(name, "-", "_"), value})
	}
	return parsed, nil
}

func splitOptions(options string) []string {
	var words []string
	var word bytes.Buffer
	inWord := false
	for i := 0; i < len(options); i++ {
		c := options[i]
		switch {
		case strings.IndexByte(" \t\n\r\v\f", c) >= 0:
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
			continue
		case c == '\\' && i+1 < len(options):
			i++
			c = options[i]
		}
		inWord = true
		word.WriteByte(c)
	}
	if inWord {
		words = append(words, word.String())
	}
	return words
}

// greet sends everything from the parameters to the first ReadyForQuery.
func (s *session) greet() {
	s.server.register(s)
	if s.server.cfg.Upstream != nil {
		s.reportGreeting()
	} else {
		for _, p := range s.vars.Reported() {
			s.out.parameterStatus(p.Name, p.Value)
		}
	}
	s.out.message(&pgproto3.BackendKeyData{ProcessID: uint32(s.pid), SecretKey: binary.BigEndian.AppendUint32(nil, s.secret)})
	s.out.readyForQuery(statusIdle)
	s.refresh()
}
