package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// process is a server program that runs.
type process struct {
	command *exec.Cmd
	log     string // file of what it prints
	stop    syscall.Signal
	done    chan struct{} // closed when it has ended
}

// identity is who a server runs as; nil is who we are.
type identity = syscall.Credential

// launch starts a program whose folder and log are in dir. stop is the signal that ends it well.
func launch(dir, name string, as *identity, stop syscall.Signal, program string, args ...string) (*process, error) {
	p := &process{command: exec.Command(program, args...), log: filepath.Join(dir, name+".log"), stop: stop, done: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the program has it too
	p.command.Dir, p.command.Stdout, p.command.Stderr = dir, log, log
	// A group of its own: an interrupt from the terminal is for us, who stop them in order.
	p.command.SysProcAttr = &syscall.SysProcAttr{Credential: as, Setpgid: true}
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.command.Wait() // how it ended is in its log
		close(p.done)
	}()
	return p, nil
}

func (p *process) pid() int { return p.command.Process.Pid }

// end stops the program and waits for it.
func (p *process) end() error {
	_ = p.command.Process.Signal(p.stop) // it may have ended
	select {
	case <-p.done:
		return nil
	case <-time.After(20 * time.Second):
		err := errors.Join(fmt.Errorf("process %d did not stop", p.pid()), p.command.Process.Kill())
		<-p.done
		return err
	}
}

// await waits until ready succeeds.
func (p *process) await(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-p.done:
			said, _ := os.ReadFile(p.log) // the error below stands without it
			return fmt.Errorf("%s ended: %s", filepath.Base(p.command.Path), said)
		case <-ctx.Done():
			return err
		}
	}
}

// unprivileged is somebody else if we are root, as whom PostgreSQL and pgbouncer refuse to run.
func unprivileged() (*identity, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	return &identity{Uid: uint32(uid), Gid: uint32(gid)}, err
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}
