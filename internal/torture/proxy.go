package torture

import (
	"context"
	"sync"
	"syscall"

	"raisinproxy/internal/testservers"
)

// Proxy is a proxy process. Faults and clients use it at the same time.
type Proxy struct {
	options testservers.Options

	mu      sync.Mutex
	process *testservers.Proxy
	before  string // the log of its earlier processes
}

// NewProxy starts a proxy.
func NewProxy(options testservers.Options) (*Proxy, error) {
	p := &Proxy{options: options}
	return p, p.Start()
}

// Start returns when the proxy listens.
func (p *Proxy) Start() error {
	process, err := testservers.StartProxy(context.Background(), p.options)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process != nil {
		p.before += p.process.Log().String()
	}
	p.process = process
	return nil
}

func (p *Proxy) current() *testservers.Proxy {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.process
}

// Address is where the proxy listened last.
func (p *Proxy) Address() string { return p.current().Address }

// Log is what the proxy wrote, over all its starts.
func (p *Proxy) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.before + p.process.Log().String()
}

// Signal sends a signal to the process.
func (p *Proxy) Signal(signal syscall.Signal) error { return p.current().Signal(signal) }

// Kill ends the process as a crash would, and waits for it.
func (p *Proxy) Kill() { p.current().Kill() }

// Close ends the process in good order; it is an error if it does not end so. A proxy
// that was killed is closed already.
func (p *Proxy) Close() error {
	process := p.current()
	select {
	case <-process.Done():
		return nil
	default:
		return process.Stop(context.Background())
	}
}
