package testservers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// patience is how long a server may take to become ready, and to end. It is only for
// those that never would.
const patience = time.Minute

// Options say what to run.
type Options struct {
	Path string // of the program, or its name
	Args []string
	Env  []string // more variables, LD_PRELOAD say
	Dir  string
	As   *syscall.Credential // nil: who this process is
	// Stop is the signal that ends the program well. 0 is SIGTERM.
	Stop syscall.Signal
	// Orphaned is the signal that the program gets when this process has ended, on Linux.
	// 0 is SIGKILL.
	Orphaned syscall.Signal
}

// Process is a program that runs, or did. It is safe for concurrent use.
type Process struct {
	command *exec.Cmd
	stop    syscall.Signal
	log     *Log
	done    chan struct{} // closed when it has ended and all that it printed is in the log
	err     error         // how it ended
}

// Start starts a program.
func Start(o Options) (*Process, error) {
	p := &Process{command: exec.Command(o.Path, o.Args...), stop: cmp.Or(o.Stop, syscall.SIGTERM), log: newLog(), done: make(chan struct{})}
	p.command.Dir, p.command.Env = o.Dir, append(os.Environ(), o.Env...)
	p.command.Stdout, p.command.Stderr = p.log, p.log
	p.command.WaitDelay = 5 * time.Second // for children that outlive it
	// A group of its own: an interrupt from the terminal is for this process, which stops its servers in order.
	p.command.SysProcAttr = &syscall.SysProcAttr{Credential: o.As, Setpgid: true}
	endWithParent(p.command.SysProcAttr, cmp.Or(o.Orphaned, syscall.SIGKILL))
	started := make(chan error)
	go p.run(started)
	return p, <-started
}

// run stays on one thread while the program runs: to the kernel, the thread that started
// it is its parent.
func (p *Process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.done)
	err := p.command.Start()
	started <- err
	if err == nil {
		p.err = p.command.Wait()
		p.log.end()
	}
}

// Pid is its process id.
func (p *Process) Pid() int { return p.command.Process.Pid }

// Log is what it has printed.
func (p *Process) Log() *Log { return p.log }

// Done is closed when it has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Signal sends it a signal.
func (p *Process) Signal(s syscall.Signal) error { return p.command.Process.Signal(s) }

// Kill ends it as a crash would, stopped or not, and waits for that.
func (p *Process) Kill() {
	_ = p.Signal(syscall.SIGKILL) // it may have ended
	<-p.Done()
}

// Wait waits for its end and gives the exit code, -1 if a signal ended it.
func (p *Process) Wait() int {
	<-p.Done()
	return p.command.ProcessState.ExitCode()
}

// Stop ends it in good order, and kills it if it has not ended by a minute later or the
// end of ctx. It is an error if it ends otherwise than well.
func (p *Process) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_ = p.Signal(p.stop) // it may have ended
	select {
	case <-p.Done():
	case <-ctx.Done():
		p.Kill()
		return fmt.Errorf("%s did not end at %v", p, p.stop)
	}
	if exit := new(exec.ExitError); errors.As(p.err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == p.stop {
		return nil
	}
	if p.err != nil {
		return fmt.Errorf("%s: %w", p, p.err)
	}
	return nil
}

// String is the program's name.
func (p *Process) String() string { return filepath.Base(p.command.Path) }
