package testservers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
)

// PostgresOptions say what the PostgreSQL is like that StartPostgres starts.
type PostgresOptions struct {
	Superuser string
	Settings  string   // lines of its configuration
	Rules     string   // pg_hba.conf, which has to trust the superuser; "": everybody is trusted
	InitArgs  []string // more arguments of initdb
}

// Postgres is a PostgreSQL that listens on 127.0.0.1 only.
type Postgres struct {
	*Process
	Port int

	superuser string
	dir       string
	keeper    *exec.Cmd
	input     io.Closer // of the keeper
}

// keeperScript waits for the end of its input, of which this process holds the other end:
// so the server and its folder go with it, even where it is killed.
const keeperScript = `cat; "$1/pg_ctl" -D "$2/data" -m immediate -w stop; rm -rf "$2" || { sleep 1; rm -rf "$2"; }`

// StartPostgres makes a PostgreSQL of the programs of this machine, with a folder of its
// own, and returns when it accepts connections.
func StartPostgres(ctx context.Context, o PostgresOptions) (*Postgres, error) {
	bin, err := findPostgres()
	if err != nil {
		return nil, err
	}
	as, err := Unprivileged()
	if err != nil {
		return nil, err
	}
	s, err := newPostgres(bin, o.Superuser, as)
	if err != nil {
		return nil, err
	}
	if err = s.initialize(o, bin, as); err == nil {
		s.Process, err = OnFreePort(func(port int) (*Process, error) {
			s.Port = port
			return StartReady(ctx, Options{
				Path: filepath.Join(bin, "postgres"), Args: []string{"-D", s.data(), "-p", strconv.Itoa(port)},
				Dir: s.dir, As: as, Orphaned: syscall.SIGQUIT,
			}, s.accepts)
		})
	}
	if err != nil {
		return nil, errors.Join(err, s.Stop(ctx))
	}
	return s, nil
}

// newPostgres makes its folder, and starts the keeper.
func newPostgres(bin, superuser string, as *syscall.Credential) (*Postgres, error) {
	dir, err := folder("raisin-postgres-", as)
	if err != nil {
		return nil, err
	}
	s := &Postgres{superuser: superuser, dir: dir, keeper: exec.Command("/bin/sh", "-c", keeperScript, "keeper", bin, dir)}
	s.keeper.SysProcAttr = &syscall.SysProcAttr{Credential: as, Setpgid: true}
	if s.input, err = s.keeper.StdinPipe(); err == nil {
		err = s.keeper.Start()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

func (s *Postgres) data() string { return filepath.Join(s.dir, "data") }

func (s *Postgres) initialize(o PostgresOptions, bin string, as *syscall.Credential) error {
	args := append([]string{"-D", s.data(), "-A", "trust", "-U", o.Superuser, "-E", "UTF8", "--locale=C"}, o.InitArgs...)
	p, err := Start(Options{Path: filepath.Join(bin, "initdb"), Args: args, Dir: s.dir, As: as})
	if err != nil {
		return err
	}
	if code := p.Wait(); code != 0 {
		return fmt.Errorf("initdb: exit %d\n%s", code, p.Log())
	}
	settings := "listen_addresses = '127.0.0.1'\nunix_socket_directories = ''\n" + o.Settings
	err = os.WriteFile(filepath.Join(s.data(), "postgresql.auto.conf"), []byte(settings), 0o600)
	if err != nil || o.Rules == "" {
		return err
	}
	return os.WriteFile(filepath.Join(s.data(), "pg_hba.conf"), []byte(o.Rules), 0o600)
}

// URL is the superuser's.
func (s *Postgres) URL() string {
	return fmt.Sprintf("postgres://%s@127.0.0.1:%d/postgres?sslmode=disable", s.superuser, s.Port)
}

// accepts tells whether this server lets clients in: somebody else's may have taken the port.
func (s *Postgres) accepts(ctx context.Context) error {
	conn, err := pgconn.Connect(ctx, s.URL())
	if err != nil {
		return err
	}
	result := conn.ExecParams(ctx, "SHOW data_directory", nil, nil, nil, nil).Read()
	if err := errors.Join(result.Err, conn.Close(ctx)); err != nil {
		return err
	}
	if dir := string(result.Rows[0][0]); dir != s.data() {
		return fmt.Errorf("on port %d is the server of %s", s.Port, dir)
	}
	return nil
}

// Stop lets the keeper end the server at once, and remove the folder.
func (s *Postgres) Stop(context.Context) error {
	err := errors.Join(s.input.Close(), s.keeper.Wait())
	if s.Process != nil {
		<-s.Done()
	}
	return err
}

// findPostgres is the folder of the newest server programs.
func findPostgres() (string, error) {
	if path, err := exec.LookPath("postgres"); err == nil {
		return filepath.Dir(path), nil
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres") // in order
	if err != nil || len(found) == 0 {
		return "", errors.New("no postgres in PATH or /usr/lib/postgresql/*/bin (Debian: apt-get install postgresql)")
	}
	return filepath.Dir(found[len(found)-1]), nil
}
