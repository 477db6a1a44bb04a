package main

import (
	"net"
	"path/filepath"
	"syscall"
	"testing"
)

// TestServiceManagerIsTold: a unit of Type=notify is ready when clients can connect.
func TestServiceManagerIsTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	told := func() string {
		buf := make([]byte, 100)
		n, err := manager.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		return string(buf[:n])
	}
	t.Setenv("NOTIFY_SOCKET", path)
	p := start(t, "main", "--dev-mode", "--port", "0")
	if got := told(); got != "READY=1" {
		t.Errorf("told %q at first", got)
	}
	connect(t, p.await(t, "listening")["address"].(string), "user=alice sslmode=disable")
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := told(); got != "STOPPING=1" {
		t.Errorf("told %q at the end", got)
	}
}
