package pgwire_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"raisinproxy/pgwire/wiretest"
)

// TestGuessingPasswordsAtOnce: many connections of one address, each with a wrong password,
// are answered at the rate of docs/operations.md, and keep nobody elsewhere from logging in.
func TestGuessingPasswordsAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it waits for delayed log-ins")
	}
	server := startServer(t, map[string]string{"auth": "scram", "startup": "2s"})
	logIn := func(from, password string) error {
		config, err := pgconn.ParseConfig("postgres://carol@" + server.addr + "/shop?sslmode=disable")
		if err != nil {
			return err
		}
		config.Password = password
		config.DialFunc = (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext
		conn, err := pgconn.ConnectConfig(t.Context(), config)
		if err != nil {
			return err
		}
		return conn.Close(context.Background())
	}
	began := time.Now()
	var judged, dropped atomic.Int64
	var group sync.WaitGroup
	for range 90 {
		group.Go(func() {
			err := logIn("127.0.0.1", "wrong")
			if told, ok := errors.AsType[*pgconn.PgError](err); !ok || told.Code != "28P01" {
				dropped.Add(1)
				return
			}
			if judged.Add(1) != 5 {
				return
			}
			if err := logIn("127.0.0.2", wiretest.Passwords["carol"]); err != nil {
				t.Errorf("from elsewhere, amid the attempts: %v", err)
			}
		})
	}
	group.Wait()
	allowed := int64(5)
	for at, wait := time.Duration(0), 100*time.Millisecond; at+wait <= time.Since(began); wait = min(2*wait, 3*time.Second) {
		at += wait
		allowed++
	}
	t.Logf("%d attempts judged, %d dropped", judged.Load(), dropped.Load())
	if n := judged.Load(); n < 5 || n > allowed {
		t.Errorf("%d attempts were judged in %v, and %d may be", n, time.Since(began), allowed)
	}
	if dropped.Load() == 0 {
		t.Error("all attempts were judged")
	}
}
