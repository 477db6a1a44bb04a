package pgwire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/pgwire/wire"
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
)

// maxStartupBytes is PostgreSQL's MAX_STARTUP_PACKET_LENGTH, and the limit of
// every message before authentication.
const maxStartupBytes = 10000

// errNoSession ends a connection that wanted none: it sent a cancel request, or
// nothing that could be answered.
var errNoSession = errors.New("no session was started")

// errHandshake: instead of a packet there is a TLS hand-shake, which nobody asked for.
var errHandshake = errors.New("a TLS hand-shake")

// startup brings a connection from its first byte to ReadyForQuery. An error
// that is a *pgerr.Error is to be told to the client.
func (s *session) startup() error {
	if s.server.cfg.StartupTimeout > 0 {
		s.login.startBy = time.Now().Add(s.server.cfg.StartupTimeout)
	}
	parameters, err := s.logIn()
	s.server.loginQueue.leave(s)
	if s.login.evicted.Load() {
		return errEvicted
	}
	if err != nil {
		return err
	}
	if err := s.server.admit(); err != nil {
		return err
	}
	s.login.admitted = true
	if err := s.server.reserved(s.caller.User); err != nil {
		return err
	}
	s.client.Adopt(s.login.startBy)
	if err := s.handler.begin(parameters); err != nil {
		return err
	}
	s.client.Conn().SetDeadline(time.Time{})
	if s.client.IsStopping() {
		return errShutdown
	}
	s.client.In.Limit = s.server.cfg.MaxMessageBytes
	s.client.IdleTimeout = s.server.cfg.IdleTimeout
	s.greet()
	return nil
}

// logIn brings a connection from its first byte to where it is known whose it is.
func (s *session) logIn() (parameters []wire.Parameter, err error) {
	if err := s.holdStartup(); err != nil {
		return nil, err
	}
	version, packet, err := s.negotiate()
	if err != nil {
		return nil, err
	}
	if parameters, err = s.readParameters(version, packet); err != nil {
		return nil, err
	}
	return parameters, s.authenticate(parameters)
}

// holdStartup gives reads and writes the time that the start-up has, unless it is to end.
func (s *session) holdStartup() error {
	s.client.Conn().SetDeadline(s.login.startBy)
	switch { // whose deadline may have been lost
	case s.client.IsStopping():
		return errShutdown
	case s.login.evicted.Load():
		return errEvicted
	}
	return nil
}

// negotiate answers the requests that may come before the start-up packet and
// returns that packet. Each of TLS and GSS encryption may be asked for once.
func (s *session) negotiate() (version uint32, packet []byte, err error) {
	askedTLS, askedGSS := false, false
	for {
		code, body, err := s.readStartupPacket()
		switch {
		case errors.Is(err, errHandshake) && !askedTLS && !askedGSS:
			askedTLS = true
			if err := s.acceptDirectTLS(body); err != nil {
				return 0, nil, err
			}
		case errors.Is(err, errHandshake):
			return 0, nil, errNoSession
		case err != nil:
			return 0, nil, err
		case code == cancelRequest && len(body) == 8:
			s.server.cancel(int32(binary.BigEndian.Uint32(body)), binary.BigEndian.Uint32(body[4:]))
			return 0, nil, errNoSession
		case code == cancelRequest:
			return 0, nil, errNoSession
		case code == sslRequest && !askedTLS:
			askedTLS = true
			if err := s.offerTLS(); err != nil {
				return 0, nil, err
			}
		case code == gssencRequest && !askedGSS:
			askedGSS = true
			if _, err := s.client.Conn().Write([]byte{'N'}); err != nil {
				return 0, nil, errNoSession
			}
		case code>>16 == 1, code>>16 == 2:
			s.refuseOldProtocol(code)
			return 0, nil, errNoSession
		case code>>16 != protocolVersion>>16:
			return 0, nil, pgerr.Fatalf(codes.FeatureNotSupported, "unsupported frontend protocol %d.%d: server supports 3.0 to 3.0", code>>16, code&0xFFFF)
		default:
			return code, body, nil
		}
	}
}

// refuseOldProtocol answers a client of protocol 1 or 2, in their form.
func (s *session) refuseOldProtocol(code uint32) {
	s.client.Out.Buf = fmt.Appendf(s.client.Out.Buf, "EFATAL:  unsupported frontend protocol %d.%d: server supports 3.0 to 3.0\n\x00", code>>16, code&0xFFFF)
	s.farewell()
}

// readStartupPacket reads a packet that has no type byte. Nothing is answered to
// a length that cannot be true: whoever sent it does not speak this protocol.
func (s *session) readStartupPacket() (code uint32, body []byte, err error) {
	var head [4]byte
	if _, err := io.ReadFull(s.client.Conn(), head[:]); err != nil {
		return 0, nil, errNoSession
	}
	if head[0] == tlsHandshake && !s.login.channel.Encrypted {
		return 0, head[:], errHandshake
	}
	length := binary.BigEndian.Uint32(head[:])
	if length < 8 || length > maxStartupBytes+4 {
		s.log.Debug("invalid length of startup packet", "length", length)
		return 0, nil, errNoSession
	}
	body = make([]byte, length-4)
	if _, err := io.ReadFull(s.client.Conn(), body); err != nil {
		return 0, nil, errNoSession
	}
	return binary.BigEndian.Uint32(body), body[4:], nil
}

// readParameters reads the start-up packet and says what of it is not understood:
// a later minor version, or protocol options, are negotiated down.
func (s *session) readParameters(version uint32, packet []byte) ([]wire.Parameter, error) {
	if len(packet) == 0 || packet[len(packet)-1] != 0 {
		return nil, pgerr.Fatalf(codes.ProtocolViolation, "invalid startup packet layout: expected terminator as last byte")
	}
	var parameters []wire.Parameter
	var unknown []string
	m := wire.Body{Rest: packet}
	for {
		name := string(m.Text())
		if name == "" {
			break
		}
		value := string(m.Text())
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
		parameters = append(parameters, wire.Parameter{Name: name, Value: value})
	}
	if m.Done() != nil {
		return nil, pgerr.Fatalf(codes.ProtocolViolation, "invalid startup packet layout: expected terminator as last byte")
	}
	if version > protocolVersion || len(unknown) > 0 {
		s.client.Out.Message(&pgproto3.NegotiateProtocolVersion{NewestMinorProtocol: protocolVersion, UnrecognizedOptions: unknown})
	}
	return parameters, nil
}

func fatal(err error) error {
	e := *pgerr.From(err)
	e.Severity = pgerr.SeverityFatal
	return &e
}

// parseOptions reads the command-line arguments that the start-up packet's
// options stand for: -c name=value and --name=value, with backslashes before
// blanks that do not separate.
func parseOptions(options string) ([]wire.Parameter, error) {
	var parsed []wire.Parameter
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
		parsed = append(parsed, wire.Parameter{Name: strings.ReplaceAll(name, "-", "_"), Value: value})
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
	s.handler.reportGreeting()
	s.client.Out.Message(&pgproto3.BackendKeyData{ProcessID: uint32(s.pid), SecretKey: binary.BigEndian.AppendUint32(nil, s.secret)})
	s.client.Out.ReadyForQuery(wire.StatusIdle)
	s.refresh()
}
