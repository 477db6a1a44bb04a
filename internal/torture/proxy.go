package torture

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
)

// Proxy is a proxy process. Faults and clients use it at the same time.
type Proxy struct {
	command func() *exec.Cmd

	mu      sync.Mutex
	process *exec.Cmd
	drained chan struct{} // closed when the log has ended
	address string
	log     strings.Builder
}

// NewProxy starts a proxy by a command that logs JSON to its standard error and says
// there where it listens; command is called for each start.
func NewProxy(command func() *exec.Cmd) (*Proxy, error) {
	p := &Proxy{command: command}
	return p, p.Start()
}

// Start returns when the proxy listens.
func (p *Proxy) Start() error {
	cmd := p.command()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	listening, drained := make(chan string, 1), make(chan struct{})
	go func() { // to the end, so that the process never waits for its log to be read
		defer close(drained)
		p.drain(stderr, listening)
	}()
	p.mu.Lock()
	p.process, p.drained = cmd, drained
	p.mu.Unlock()
	address, ok := <-listening
	if !ok {
		return fmt.Errorf("the proxy does not listen: %w\n%s", p.wait(), p.Log())
	}
	p.mu.Lock()
	p.address = address
	p.mu.Unlock()
	return nil
}

func (p *Proxy) drain(stderr io.Reader, listening chan<- string) {
	defer close(listening)
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		p.mu.Lock()
		fmt.Fprintln(&p.log, lines.Text())
		p.mu.Unlock()
		var record struct{ Msg, Address string }
		if err := json.Unmarshal(lines.Bytes(), &record); err == nil && record.Msg == "listening" {
			listening <- record.Address
		}
	}
}

// Address is where the proxy listened last.
func (p *Proxy) Address() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.address
}

// Log is what the proxy wrote, over all its starts.
func (p *Proxy) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// Signal sends a signal to the process.
func (p *Proxy) Signal(signal syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.process.Process.Signal(signal)
}

// Kill ends the process as a crash would, and waits for it.
func (p *Proxy) Kill() error {
	err := p.Signal(syscall.SIGKILL)
	var killed *exec.ExitError
	if waited := p.wait(); !errors.As(waited, &killed) {
		return errors.Join(err, waited)
	}
	return err
}

// Close ends the process in good order; it is an error if it does not end so. A proxy
// that was killed is closed already.
func (p *Proxy) Close() error {
	p.mu.Lock()
	ended := p.process.ProcessState != nil
	p.mu.Unlock()
	if ended {
		return nil
	}
	return errors.Join(p.Signal(syscall.SIGTERM), p.wait())
}

func (p *Proxy) wait() error {
	p.mu.Lock()
	process, drained := p.process, p.drained
	p.mu.Unlock()
	<-drained
	return process.Wait()
}
