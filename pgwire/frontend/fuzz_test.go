package frontend

import (
	"bytes"
	"encoding/binary"
	"log/slog"
	"testing"

	"raisinproxy/internal/identity"
	"raisinproxy/pgwire/login"
	"raisinproxy/pgwire/wiretest"
)

// FuzzStartup: whatever bytes open a connection, it is greeted, refused or dropped.
func FuzzStartup(f *testing.F) {
	const (
		protocolVersion = 3 << 16
		cancelRequest   = 1234<<16 | 5678
		sslRequest      = 1234<<16 | 5679
		gssencRequest   = 1234<<16 | 5680
	)
	packet := func(code uint32, rest string) []byte {
		b := binary.BigEndian.AppendUint32(nil, uint32(8+len(rest)))
		return append(binary.BigEndian.AppendUint32(b, code), rest...)
	}
	f.Add(packet(protocolVersion, "user\x00alice\x00database\x00shop\x00options\x00-c search_path=x --a=b\x00\x00"))
	f.Add(packet(protocolVersion+2, "user\x00alice\x00_pq_.x\x00y\x00replication\x00true\x00client_encoding\x00latin1\x00\x00"))
	f.Add(packet(sslRequest, ""))
	f.Add(append(packet(gssencRequest, ""), packet(cancelRequest, "\x00\x00\x00\x01\x00\x00\x00\x02")...))
	f.Add(packet(2<<16, "user\x00"))
	f.Add([]byte("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	policy, err := identity.NewPolicy(identity.PolicyOptions{Method: identity.Trust, AllowAnonymous: true})
	if err != nil {
		f.Fatal(err)
	}
	door := login.NewDoor(login.Config{Policy: policy, Log: slog.New(slog.DiscardHandler)}, func(int32, uint32) {})
	f.Fuzz(func(t *testing.T, input []byte) {
		s := aliceSession(t)
		conn := wiretest.NewTape(input, 7)
		s.Client.Secure(conn)
		s.Client.In.Limit = login.MaxPacket
		err := s.startup(door)
		s.Farewell()
		if err == nil && !bytes.HasSuffix(conn.Written.Bytes(), []byte("Z\x00\x00\x00\x05I")) {
			t.Errorf("the greeting ends with %q", conn.Written.Bytes())
		}
	})
}
