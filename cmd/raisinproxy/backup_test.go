package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A server is copied, killed, and restored from the copy, as docs/operations.md says.
func TestBackupAndRestore(t *testing.T) {
	config := durableConfig(t)
	dir, dest := filepath.Join(filepath.Dir(config), "raisinproxy-data"), filepath.Join(t.TempDir(), "backup")
	p := start(t, "main", "--config", config)
	address := p.await(t, "listening")["address"].(string)
	conn := connect(t, address, "user=alice dbname=shop sslmode=disable")
	mustQuery(t, conn, "SELECT remaining FROM raisin_inventory_claim('p', 3, 10)", "7")
	out, code := tool(t, "backup", "--config", config, dest)
	if code != 0 || !strings.HasPrefix(out, "1 pools as of 2") || !strings.HasSuffix(out, "Z are in "+dest+"\n") {
		t.Fatalf("exit %d: %s", code, out)
	}
	asOf, _, _ := strings.Cut(strings.TrimPrefix(out, "1 pools as of "), " ")
	mustQuery(t, conn, "SELECT remaining FROM raisin_inventory_claim('p', 3, 10)", "4")
	for dest, want := range map[string]string{
		dest:                        "the folder is not empty",
		filepath.Join(dir, "below"): "it is in the data folder",
	} {
		if out, code := tool(t, "backup", "--config", config, dest); code != exitFailure || !strings.HasPrefix(out, "raisinproxy: backup: cannot make a backup in "+dest) || !strings.Contains(out, want) {
			t.Errorf("exit %d: %s, want %q", code, out, want)
		}
	}
	p.Kill()
	p.end(t)
	// The socket is left behind, and nobody has the folder.
	if out, code := tool(t, "backup", "--config", config, dest+"2"); code != 0 {
		t.Errorf("without a server: exit %d: %s", code, out)
	}

	if err := errors.Join(os.Rename(dir, dir+".lost"), os.CopyFS(dir, os.DirFS(dest))); err != nil {
		t.Fatal(err)
	}
	p = start(t, "main", "--config", config)
	record := p.await(t, "the lock store was restored from a backup of "+asOf)
	if record["level"] != "WARN" || record["locks_paused"] != "5m0s" {
		t.Errorf("%v", record)
	}
	conn = connect(t, p.await(t, "listening")["address"].(string), "user=alice dbname=shop sslmode=disable")
	mustQuery(t, conn, "SELECT remaining FROM raisin_inventory_claim('p', 1, 10)", "6")
	if _, err := query(t, conn, "SELECT acquired FROM raisin_lock_acquire('l', 1000)"); sqlState(err) != "58000" || !strings.Contains(err.Error(), "locks are paused") {
		t.Errorf("acquire: %v", err)
	}
	p.stop(t)
	if _, err := os.Stat(filepath.Join(dir, "CONTROL")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is left behind: %v", err)
	}

	appendTo(t, config, "[locks.inprocess]\non_restore = \"continue\"\n")
	p = start(t, "main", "--config", config)
	conn = connect(t, p.await(t, "listening")["address"].(string), "user=alice dbname=shop sslmode=disable")
	mustQuery(t, conn, "SELECT acquired FROM raisin_lock_acquire('l', 1000)", "t")
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	before, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, append(before, text...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestBackupNeedsAStore(t *testing.T) {
	for config, want := range map[string]string{
		"[locks]\nenabled = false":                                    "[locks] enabled is not true",
		"[locks]\nenabled = true\n[locks.inprocess]\ndata_dir = \"\"": "in memory only",
		"[locks]\nenabled = true\nbackend = \"redis\"":                "back up Redis by its own means",
		"[locks]\nenabled = true":                                     "no such file or directory",
	} {
		path := filepath.Join(configDir(t, "[auth]\nmethod = \"trust\"\n"+config), "raisin.toml")
		out := runProgram(t, []string{"backup", "--config", path, filepath.Join(t.TempDir(), "b")}, nil)
		if !strings.Contains(out, want) {
			t.Errorf("%q: %s, want %q", config, out, want)
		}
	}
}

// The socket of a folder is for one user, replaces one that nobody listens at, and leaves
// alone what is no socket; its path may be long.
func TestControlSocket(t *testing.T) {
	for name, tt := range map[string]struct {
		dir    string
		before func(path string) error
		want   error
	}{
		"new":   {"data", func(string) error { return nil }, nil},
		"long":  {strings.Repeat("long/", 40) + "data", func(string) error { return nil }, nil},
		"stale": {"data", leaveSocket, nil},
		"file":  {"data", func(path string) error { return os.WriteFile(path, []byte("x"), 0o600) }, errNotASocket},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), tt.dir)
			path := filepath.Join(dir, "CONTROL")
			if err := errors.Join(os.MkdirAll(dir, 0o750), tt.before(path)); err != nil {
				t.Fatal(err)
			}
			socket, err := nameSocket(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = socket.close() }()
			listener, err := socket.listen(t.Context())
			if !errors.Is(err, tt.want) {
				t.Fatalf("listen: %v, want %v", err, tt.want)
			}
			if err != nil {
				return
			}
			if info, err := os.Stat(path); err != nil || info.Mode() != fs.ModeSocket|0o600 {
				t.Errorf("the socket is %v, %v", info.Mode(), err)
			}
			conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket.path, Net: "unix"})
			if err != nil {
				t.Errorf("connect: %v", err)
			} else {
				conn.Close()
			}
			listener.Close()
			if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the socket is left behind: %v", err)
			}
		})
	}
}

// leaveSocket leaves a socket as a process does that is killed.
func leaveSocket(path string) error {
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return err
	}
	listener.SetUnlinkOnClose(false)
	return listener.Close()
}

// A backup is made through a data_dir whose path no socket address has room for.
func TestBackupOfALongPath(t *testing.T) {
	config := durableConfig(t)
	appendTo(t, config, fmt.Sprintf("[locks.inprocess]\ndata_dir = %q\n", strings.Repeat("long/", 40)+"data"))
	p := start(t, "main", "--config", config)
	p.await(t, "listening")
	if out, code := tool(t, "backup", "--config", config, filepath.Join(t.TempDir(), "b")); code != 0 {
		t.Errorf("exit %d: %s", code, out)
	}
	p.await(t, "backup made")
}

// A backup that only the server sees is no success.
func TestBackupIsSeen(t *testing.T) {
	dir := t.TempDir()
	if err := isSeen(dir); err != nil {
		t.Error(err)
	}
	if err := isSeen(filepath.Join(dir, "elsewhere")); err == nil || !strings.Contains(err.Error(), "there is none here") {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// What is not a request is not answered, and keeps nobody from asking.
func TestControlRefusesNonsense(t *testing.T) {
	config := durableConfig(t)
	dir := filepath.Join(filepath.Dir(config), "raisinproxy-data")
	p := start(t, "main", "--config", config)
	p.await(t, "listening")
	var replies []string
	for _, text := range []string{"nonsense\n", "{}\n", `{"backup": "relative"}` + "\n"} {
		socket, err := nameSocket(dir)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := net.Dial("unix", socket.path)
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(time.Minute))
		fmt.Fprint(conn, text)
		buf := make([]byte, 1000)
		n, _ := conn.Read(buf)
		replies = append(replies, string(buf[:n]))
		conn.Close()
		_ = socket.close()
	}
	refused := `{"error":"the path of a backup must be absolute","pools":0,"as_of":"0001-01-01T00:00:00Z"}` + "\n"
	if want := []string{"", refused, refused}; !slices.Equal(replies, want) {
		t.Errorf("replies are %q, want %q", replies, want)
	}
	if out, code := tool(t, "backup", "--config", config, filepath.Join(t.TempDir(), "b")); code != 0 {
		t.Errorf("exit %d: %s", code, out)
	}
}
