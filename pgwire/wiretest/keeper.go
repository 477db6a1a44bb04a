package wiretest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// hostRules trust everyone at address but those whose password is part of a script.
func hostRules(address string) string {
	users := append(slices.Sorted(maps.Keys(Passwords)), "ghost")
	return "host all " + Cleartext + " " + address + " password\n" +
		"host all " + strings.Join(users, ",") + " " + address + " scram-sha-256\n" +
		"host all all " + address + " trust\n"
}

const settings = `
fsync = off
full_page_writes = off
synchronous_commit = off
autovacuum = off
shared_buffers = 32MB
max_connections = 60
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
timezone = 'UTC'
log_timezone = 'UTC'
datestyle = 'ISO, MDY'
lc_messages = 'C'
`

// keeperScript makes a server, starts it and waits for the end of its input: this
// process holds the other end of the pipe, so the server and its folder go with
// it even where it is killed.
const keeperScript = `
PATH="$1:$PATH"; dir="$2"; port="$3"
begin() {
	initdb -D "$dir/data" -A trust -U postgres -E UTF8 --locale=C --no-sync &&
	cat "$dir/settings" >>"$dir/data/postgresql.conf" &&
	cat "$dir/rules" >"$dir/data/pg_hba.conf" &&
	pg_ctl -D "$dir/data" -l "$dir/log" -w -t 60 -o "-p $port" start
}
trap '' PIPE
begin >"$dir/begin" 2>&1 && echo ready || { cat "$dir/begin" "$dir/log"; echo; }
exec >/dev/null 2>&1
cat
pg_ctl -D "$dir/data" -m immediate -w stop
rm -rf "$dir"
`

// keeper is the process that keeps our PostgreSQL.
type keeper struct {
	command *exec.Cmd
	input   io.Closer
	port    int
}

// end lets the keeper stop the server and waits for both.
func (k *keeper) end() error { return errors.Join(k.input.Close(), k.command.Wait()) }

// startKeeper tries again where, between the choice of a port and its use, another
// process took it.
func startKeeper() (url string, end func() error, err error) {
	bin, err := findPostgres()
	if err != nil {
		return "", nil, err
	}
	identity, err := unprivileged()
	if err != nil {
		return "", nil, err
	}
	var faults []error
	for range 3 {
		k, err := newKeeper(bin, identity)
		if err == nil {
			return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", k.port), k.end, nil
		}
		faults = append(faults, err)
	}
	return "", nil, errors.Join(faults...)
}

// newKeeper returns when the server is ready.
func newKeeper(bin string, identity *syscall.Credential) (*keeper, error) {
	dir, err := serverFolder(identity)
	if err != nil {
		return nil, err
	}
	k, output, err := launch(bin, dir, identity)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	answers := bufio.NewReader(output)
	if line, _ := answers.ReadString('\n'); line != "ready\n" {
		said, _ := io.ReadAll(answers)
		return nil, errors.Join(fmt.Errorf("PostgreSQL did not start: %s%s", line, said), k.end())
	}
	return k, nil
}

func launch(bin, dir string, identity *syscall.Credential) (*keeper, io.Reader, error) {
	port, err := freePort()
	if err != nil {
		return nil, nil, err
	}
	command := exec.Command("/bin/sh", "-c", keeperScript, "keeper", bin, dir, strconv.Itoa(port))
	command.Dir = dir
	// A group of its own: an interrupt from the terminal must not end the keeper first.
	command.SysProcAttr = &syscall.SysProcAttr{Credential: identity, Setpgid: true}
	input, err := command.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	return &keeper{command, input, port}, output, command.Start()
}

// serverFolder makes a folder that the server may use, with its configuration.
func serverFolder(identity *syscall.Credential) (string, error) {
	dir, err := os.MkdirTemp("", "raisin-postgres-")
	if err != nil {
		return "", err
	}
	err = errors.Join(
		os.WriteFile(filepath.Join(dir, "settings"), []byte(settings), 0o644),
		os.WriteFile(filepath.Join(dir, "rules"), []byte(hostRules("127.0.0.1/32")), 0o644))
	if identity != nil {
		err = errors.Join(err, os.Chown(dir, int(identity.Uid), int(identity.Gid)))
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, nil
}

// findPostgres is the folder of the newest server binaries.
func findPostgres() (string, error) {
	if path, err := exec.LookPath("postgres"); err == nil {
		return filepath.Dir(path), nil
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil || len(found) == 0 {
		return "", errors.New("no postgres in PATH or /usr/lib/postgresql/*/bin")
	}
	slices.SortFunc(found, func(a, b string) int { return majorVersion(a) - majorVersion(b) })
	return filepath.Dir(found[len(found)-1]), nil
}

func majorVersion(path string) int {
	n, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
	if err != nil {
		return 0
	}
	return n
}

// unprivileged is who the server runs as if we are root, as whom it refuses to.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		account, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}
