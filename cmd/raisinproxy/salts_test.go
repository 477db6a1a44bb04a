package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// saltOf is what a client is told who logs in as user, before it has proved anything.
func saltOf(t *testing.T, address, user string) string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	f := pgproto3.NewFrontend(conn, conn)
	f.Send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersionNumber, Parameters: map[string]string{"user": user}})
	f.Send(&pgproto3.SASLInitialResponse{AuthMechanism: "SCRAM-SHA-256", Data: []byte("n,,n=,r=abc")})
	if err := f.Flush(); err != nil {
		t.Fatal(err)
	}
	for {
		message, err := f.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if challenge, ok := message.(*pgproto3.AuthenticationSASLContinue); ok {
			_, salt, _ := strings.Cut(string(challenge.Data), ",")
			return salt
		}
	}
}

// TestSaltsSurviveARestart: those told to unknown users do, as those of real ones, with
// what is kept on this disk.
func TestSaltsSurviveARestart(t *testing.T) {
	for name, tt := range map[string]struct{ config, file string }{
		"in the data folder": {"[locks]\nenabled = true\n[locks.inprocess]\ndata_dir = \"data\"\n", "data/SALTS"},
		"in a file":          {"[auth]\nsalt_file = \"kept/salts\"\n", "kept/salts"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := configDir(t, "[pgwire]\nport = 0\n"+tt.config)
			var salts [2]string
			for i := range salts {
				p := start(t, "main", "--config", filepath.Join(dir, "raisin.toml"))
				salts[i] = saltOf(t, p.await(t, "listening")["address"].(string), "mallory")
				p.stop(t)
			}
			if salts[0] != salts[1] || salts[0] == "" {
				t.Errorf("the salt was %q and is %q", salts[0], salts[1])
			}
			if _, err := os.Stat(filepath.Join(dir, tt.file)); err != nil {
				t.Error(err)
			}
		})
	}
}
