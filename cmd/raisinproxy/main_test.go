package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"raisinproxy/internal/testservers"
	"raisinproxy/pgwire/wiretest"
)

// asProgram makes the test binary be the program, so that signals and exit codes are
// the real ones. "hang" is a program that never obeys its first signal.
const asProgram = "RAISIN_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	switch os.Getenv(asProgram) {
	case "":
		wiretest.Main(m)
	case "hang":
		_, stop := endOnSignal(context.Background(), os.Stderr)
		defer stop()
		fmt.Fprintln(os.Stderr, `{"msg":"listening"}`)
		select {} // until the test is over
	default:
		main()
	}
}

// program is the test binary as the program.
func program(mode string, args ...string) testservers.Options {
	return testservers.Options{Path: os.Args[0], Args: args, Env: []string{asProgram + "=" + mode}}
}

// process is a running program whose log is read.
type process struct {
	*testservers.Process
	log *bufio.Scanner
}

func start(t *testing.T, mode string, args ...string) *process {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: it runs the program")
	}
	return startProgram(t, program(mode, args...))
}

func startProgram(t *testing.T, options testservers.Options) *process {
	t.Helper()
	p, err := testservers.Start(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return &process{p, bufio.NewScanner(p.Log().Reader())}
}

// tool runs a command of the program.
func tool(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	p := startProgram(t, program("main", args...))
	code = p.Wait()
	return p.Log().String(), code
}

// await reads the log up to a message and gives that record.
func (p *process) await(t *testing.T, message string) map[string]any {
	t.Helper()
	for p.log.Scan() {
		record := map[string]any{}
		if err := json.Unmarshal(p.log.Bytes(), &record); err != nil {
			t.Fatalf("the log is not JSON: %s", p.log.Text())
		}
		if text, _ := record["msg"].(string); strings.Contains(text, message) {
			return record
		}
	}
	t.Fatalf("the log ends without %q", message)
	return nil
}

// end reads the rest of the log and gives it with the exit code.
func (p *process) end(t *testing.T) (rest string, code int) {
	t.Helper()
	for p.log.Scan() {
		rest += p.log.Text() + "\n"
	}
	return rest, p.Wait()
}

// stop ends it in good order and gives the rest of the log.
func (p *process) stop(t *testing.T) (rest string) {
	t.Helper()
	p.Signal(syscall.SIGTERM)
	rest, code := p.end(t)
	if code != 0 {
		t.Errorf("exit %d\n%s", code, rest)
	}
	return rest
}

func TestDevModeServesAndEnds(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		p := start(t, "main", "--dev-mode", "--port", "0")
		warning := p.await(t, "DEVELOPMENT MODE")
		if text := warning["msg"].(string); warning["level"] != "WARN" || !strings.HasPrefix(text, `Try: psql "host=127.0.0.1 port=`) || !strings.Contains(text, "lost at exit") {
			t.Errorf("the warning is %v", warning)
		}
		address := p.await(t, "listening")["address"].(string)
		conn := connect(t, address, "user=alice dbname=shop sslmode=disable")
		if _, err := conn.Exec(t.Context(), "SELECT 1").ReadAll(); err != nil {
			t.Error(err)
		}
		p.Signal(signal)
		// The session is idle: it is told at once and does not hold up the end.
		var told *pgconn.PgError
		if _, err := conn.Exec(t.Context(), "SELECT 1").ReadAll(); errors.As(err, &told) && told.Code != "57P01" {
			t.Errorf("the client is told %v", err)
		}
		if rest, code := p.end(t); code != 0 || !strings.Contains(rest, `"msg":"stopped"`) {
			t.Errorf("%v: exit %d\n%s", signal, code, rest)
		}
	}
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	p := start(t, "hang")
	p.await(t, "listening")
	go func() { // those that come at once count as one
		for p.Signal(syscall.SIGTERM) == nil {
			runtime.Gosched()
		}
	}()
	if rest, code := p.end(t); code != exitFailure || !strings.Contains(rest, "second signal") {
		t.Errorf("exit %d\n%s", code, rest)
	}
}

// TestSignalsAtOnceAreOne: coreutils' timeout signals the process and its group.
func TestSignalsAtOnceAreOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signals, done := make(chan os.Signal), make(chan struct{})
		times := 0
		second := make(chan os.Signal, 1)
		go func() { second <- secondSignal(signals, done, func() { times++ }) }()
		for range 3 {
			signals <- syscall.SIGTERM
		}
		synctest.Wait()
		if times != 1 || len(second) > 0 {
			t.Errorf("three signals at once: the first counted %d times, %d ended the process", times, len(second))
		}
		<-time.After(oneSignal + 1)
		signals <- syscall.SIGINT
		if s := <-second; s != syscall.SIGINT || times != 1 {
			t.Errorf("the second signal is %v, the first counted %d times", s, times)
		}
	})
}

func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	p := start(t, "main", "--dev-mode", "--port", port)
	record := p.await(t, "cannot start")
	if _, code := p.end(t); code != exitFailure || !strings.Contains(record["error"].(string), "address already in use") {
		t.Errorf("exit %d: %v", code, record)
	}
}

// Passwords over TLS, which is demanded: the file's settings reach the front end.
func TestConfigFileServes(t *testing.T) {
	dir := configDir(t, `
[pgwire]
port = 0
tls_cert = "cert.pem"
tls_key = "key.pem"
require_tls = true
[auth]
allow_anonymous = true
[locks]
enabled = true
[locks.inprocess]
data_dir = ""
`)
	p := start(t, "main", "--config", filepath.Join(dir, "raisin.toml"))
	p.await(t, "everything is lost at exit")
	address := p.await(t, "listening")["address"].(string)
	root := "sslrootcert=" + filepath.Join(dir, "cert.pem")
	connect(t, address, "user=alice password=pencil sslmode=verify-full "+root)
	connect(t, address, "user=anonymous sslmode=require")
	for options, want := range map[string]string{
		"user=alice password=wrong sslmode=require":   "28P01",
		"user=mallory password=wrong sslmode=require": "28P01",
		"user=alice password=pencil sslmode=disable":  "28000",
	} {
		_, err := dial(t, address, options)
		var told *pgconn.PgError
		if !errors.As(err, &told) || told.Code != want {
			t.Errorf("%s: %v, want %s", options, err, want)
		}
	}
	rest := p.stop(t)
	// What anybody is refused for is in the log: the one without TLS, too.
	for _, reason := range []string{"wrong password", "no such user", "this server requires TLS"} {
		if !strings.Contains(rest, reason) {
			t.Errorf("the log does not tell of %s:\n%s", reason, rest)
		}
	}
	for _, secret := range []string{"pencil", "SCRAM-SHA-256$"} {
		if strings.Contains(rest, secret) {
			t.Errorf("the log shows %s:\n%s", secret, rest)
		}
	}
}

func connect(t *testing.T, address, options string) *pgconn.PgConn {
	t.Helper()
	conn, err := dial(t, address, options)
	if err != nil {
		t.Fatalf("%s: %v", options, err)
	}
	return conn
}

func dial(t *testing.T, address, options string) (*pgconn.PgConn, error) {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	conn, err := pgconn.Connect(ctx, "host="+host+" port="+port+" dbname=shop "+options)
	if err == nil {
		t.Cleanup(func() { conn.Close(context.Background()) })
	}
	return conn, err
}
