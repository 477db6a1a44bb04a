package login

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"

	"raisinproxy/internal/identity"
)

// This file makes connections secure: after an SSLRequest, or at once.

// tlsHandshake is the first byte of a TLS connection, and of no start-up packet: its
// length would be too large.
const tlsHandshake = 22

// ALPN is the name of this protocol in a TLS hand-shake.
const ALPN = "postgresql"

// offerTLS answers an SSLRequest. Nothing was read beyond the request, so bytes
// that an attacker put after it are read as part of the hand-shake, and fail it.
func (v *Visitor) offerTLS() error {
	config := v.door.tlsConfig()
	if config == nil {
		return v.reply('N')
	}
	if err := v.reply('S'); err != nil {
		return err
	}
	return v.secure(config)
}

// reply answers a request that comes before the start-up packet.
func (v *Visitor) reply(answer byte) error {
	if _, err := v.client.Conn().Write([]byte{answer}); err != nil {
		return ErrNoSession
	}
	return nil
}

// acceptDirectTLS takes a hand-shake that nobody asked for first (sslnegotiation=direct).
// It has to name this protocol: a client that names another one has been led astray.
func (v *Visitor) acceptDirectTLS(read []byte) error {
	config := v.door.tlsConfig()
	if config == nil {
		return ErrNoSession
	}
	v.client.Secure(&unreadConn{Conn: v.client.Conn(), all: io.MultiReader(bytes.NewReader(read), v.client.Conn())})
	if err := v.secure(config); err != nil {
		return err
	}
	if v.client.Conn().(*tls.Conn).ConnectionState().NegotiatedProtocol != ALPN {
		v.log.Debug("a direct TLS connection without ALPN")
		return ErrNoSession
	}
	return nil
}

// unreadConn is a connection of which something has been read already.
type unreadConn struct {
	net.Conn
	all io.Reader
}

func (c *unreadConn) Read(b []byte) (int, error) { return c.all.Read(b) }

// secure makes the connection one over TLS.
func (v *Visitor) secure(config *tls.Config) error {
	secured := tls.Server(v.client.Conn(), config)
	if err := secured.HandshakeContext(v.client.Context()); err != nil {
		v.log.Debug("TLS hand-shake failed", "error", err)
		return ErrNoSession
	}
	v.client.Secure(secured)
	v.channel = identity.Channel{Encrypted: true, EndPoint: endPoint(config)}
	if chains := secured.ConnectionState().VerifiedChains; len(chains) > 0 {
		v.channel.Client = chains[0][0]
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
	return identity.EndPoint(cert)
}
