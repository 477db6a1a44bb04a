package main

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net"
	"sync"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/xdg-go/scram"
)

func randomNumber() uint32 { return rand.Uint32() }

var make1MiB = sync.OnceValue(func() []byte { return bytes.Repeat([]byte("x"), 1<<20) })

// client has mallory's password. It derives the keys once: an attacker's own work must not
// be what slows it down.
var client = sync.OnceValue(func() *scram.Client {
	c, err := scram.SHA256.NewClient("", malloryPassword, "")
	if err != nil {
		panic(err) // the password is a constant
	}
	return c
})

// logIn logs in with mallory's password, from an address of its own. It is nil if that
// fails.
func logIn(ctx context.Context, address, user string) net.Conn {
	conn := dial(ctx, address)
	if conn == nil {
		return nil
	}
	f := pgproto3.NewFrontend(conn, conn)
	f.Send(&pgproto3.StartupMessage{
		ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": user, "database": "shop"},
	})
	talk := client().NewConversation()
	for f.Flush() == nil {
		m, err := f.Receive()
		if err != nil {
			break
		}
		switch m := m.(type) {
		case *pgproto3.AuthenticationSASL:
			first, _ := talk.Step("")
			f.Send(&pgproto3.SASLInitialResponse{AuthMechanism: "SCRAM-SHA-256", Data: []byte(first)})
		case *pgproto3.AuthenticationSASLContinue:
			final, err := talk.Step(string(m.Data))
			if err != nil {
				final = "" // the server will not like it
			}
			f.Send(&pgproto3.SASLResponse{Data: []byte(final)})
		case *pgproto3.ErrorResponse:
			conn.Close()
			return nil
		case *pgproto3.ReadyForQuery:
			return conn
		}
	}
	conn.Close()
	return nil
}
