package login

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

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

// MaxPacket is PostgreSQL's MAX_STARTUP_PACKET_LENGTH, and the limit of
// every message before authentication.
const MaxPacket = 10000

// ErrNoSession ends a connection that wanted none: it sent a cancel request, or
// nothing that could be answered.
var ErrNoSession = errors.New("no session was started")

// ErrShutdown ends sessions with the server.
var ErrShutdown = pgerr.Fatalf(codes.AdminShutdown, "terminating connection due to administrator command")

// errHandshake: instead of a packet there is a TLS hand-shake, which nobody asked for.
var errHandshake = errors.New("a TLS hand-shake")

func (v *Visitor) logIn() (*Guest, error) {
	if err := v.holdStartup(); err != nil {
		return nil, err
	}
	version, packet, err := v.negotiate()
	if err != nil {
		return nil, err
	}
	guest, err := v.readParameters(version, packet)
	if err != nil {
		return nil, err
	}
	return guest, v.authenticate(guest)
}

// holdStartup gives reads and writes the time that the start-up has, unless it is to end.
func (v *Visitor) holdStartup() error {
	v.client.Conn().SetDeadline(v.startBy)
	switch { // whose deadline may have been lost
	case v.client.IsStopping():
		return ErrShutdown
	case v.evicted.Load():
		return errEvicted
	}
	return nil
}

// negotiate answers the requests that may come before the start-up packet and
// returns that packet. Each of TLS and GSS encryption may be asked for once.
func (v *Visitor) negotiate() (version uint32, packet []byte, err error) {
	askedTLS, askedGSS := false, false
	for {
		code, body, err := v.readStartupPacket()
		switch {
		case errors.Is(err, errHandshake) && !askedTLS && !askedGSS:
			askedTLS = true
			err = v.acceptDirectTLS(body)
		case errors.Is(err, errHandshake):
			err = ErrNoSession
		case err != nil:
		case code == cancelRequest:
			err = ErrNoSession
			if len(body) == 8 {
				v.door.cancel(int32(binary.BigEndian.Uint32(body)), binary.BigEndian.Uint32(body[4:]))
			}
		case code == sslRequest && !askedTLS:
			askedTLS = true
			err = v.offerTLS()
		case code == gssencRequest && !askedGSS:
			askedGSS = true
			err = v.reply('N')
		case code>>16 == 1, code>>16 == 2:
			err = ErrNoSession
			v.refuseOldProtocol(code)
		case code>>16 != protocolVersion>>16:
			err = pgerr.Fatalf(codes.FeatureNotSupported, "unsupported frontend protocol %d.%d: server supports 3.0 to 3.0", code>>16, code&0xFFFF)
		default:
			return code, body, nil
		}
		if err != nil {
			return 0, nil, err
		}
	}
}

// refuseOldProtocol answers a client of protocol 1 or 2, in their form.
func (v *Visitor) refuseOldProtocol(code uint32) {
	v.client.Out.Buf = fmt.Appendf(v.client.Out.Buf, "EFATAL:  unsupported frontend protocol %d.%d: server supports 3.0 to 3.0\n\x00", code>>16, code&0xFFFF)
	_ = v.client.Flush() // whether it arrives changes nothing
}

// readStartupPacket reads a packet that has no type byte. Nothing is answered to
// a length that cannot be true: its sender does not speak this protocol.
func (v *Visitor) readStartupPacket() (code uint32, body []byte, err error) {
	var head [4]byte
	if _, err := io.ReadFull(v.client.Conn(), head[:]); err != nil {
		return 0, nil, ErrNoSession
	}
	if head[0] == tlsHandshake && !v.channel.Encrypted {
		return 0, head[:], errHandshake
	}
	length := binary.BigEndian.Uint32(head[:])
	if length < 8 || length > MaxPacket+4 {
		v.log.Debug("invalid length of startup packet", "length", length)
		return 0, nil, ErrNoSession
	}
	body = make([]byte, length-4)
	if _, err := io.ReadFull(v.client.Conn(), body); err != nil {
		return 0, nil, ErrNoSession
	}
	return binary.BigEndian.Uint32(body), body[4:], nil
}

var errLayout = pgerr.Fatalf(codes.ProtocolViolation, "invalid startup packet layout: expected terminator as last byte")

// readParameters reads the start-up packet and says what of it is not understood:
// a later minor version, or protocol options, are negotiated down.
func (v *Visitor) readParameters(version uint32, packet []byte) (*Guest, error) {
	if len(packet) == 0 || packet[len(packet)-1] != 0 {
		return nil, errLayout
	}
	guest := &Guest{StartBy: v.startBy}
	var unknown []string
	m := wire.Body{Rest: packet}
	for name := string(m.Text()); name != ""; name = string(m.Text()) {
		value := string(m.Text())
		if strings.HasPrefix(name, "_pq_.") {
			unknown = append(unknown, name)
		} else if err := guest.note(name, value); err != nil {
			return nil, err
		}
	}
	if m.Done() != nil {
		return nil, errLayout
	}
	if version > protocolVersion || len(unknown) > 0 {
		v.client.Out.Message(&pgproto3.NegotiateProtocolVersion{NewestMinorProtocol: protocolVersion, UnrecognizedOptions: unknown})
	}
	return guest, nil
}

// note takes account of a parameter.
func (g *Guest) note(name, value string) error {
	switch name {
	case "user":
		g.user = datum.TruncateName(value)
		return nil
	case "database":
		g.Database = value // not truncated: two scopes must not become one
		return nil
	case "replication":
		on, ok := datum.ParseBool(value)
		if !ok && value != "database" {
			return pgerr.Fatalf(codes.InvalidParameterValue, "invalid value for parameter \"replication\": \"%s\"", value).
				WithHint("Valid values are: \"false\", 0, \"true\", 1, \"database\".")
		}
		g.Replicates = on || !ok
	}
	g.Parameters = append(g.Parameters, wire.Parameter{Name: name, Value: value})
	return nil
}
