package testservers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

var errEnded = errors.New("it has ended")

// StartReady starts a program and returns when it is ready, as Ready says.
func StartReady(ctx context.Context, o Options, probe func(context.Context) error) (*Process, error) {
	p, err := Start(o)
	if err != nil {
		return nil, err
	}
	return p, p.Ready(ctx, probe)
}

// Ready returns when probe succeeds. A program that ends before, or does not become
// ready, is killed, and the error has the end of its log.
func (p *Process) Ready(ctx context.Context, probe func(context.Context) error) error {
	err := await(ctx, p.done, probe)
	if err != nil {
		p.Kill()
		err = fmt.Errorf("%s is not ready: %w\n%s", p, err, p.log.Tail())
	}
	return err
}

// Await returns when probe succeeds, which it tries again and again: servers do not tell
// when they are ready.
func Await(ctx context.Context, probe func(context.Context) error) error {
	return await(ctx, nil, probe)
}

// await gives up when ended is closed.
func await(ctx context.Context, ended <-chan struct{}, probe func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		err := probe(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-again.C:
		case <-ended:
			return fmt.Errorf("%w (%w)", errEnded, err)
		case <-ctx.Done():
			return fmt.Errorf("%w (%w)", ctx.Err(), err)
		}
	}
}

// OnFreePort starts a server on a port that is free, and again on another one where,
// between the choice of the port and its use, somebody else took it.
func OnFreePort[Server any](start func(port int) (Server, error)) (Server, error) {
	const tries = 3
	for try := 1; ; try++ {
		port, err := FreePort()
		if err != nil {
			return *new(Server), err
		}
		s, err := start(port)
		if try == tries || !errors.Is(err, errEnded) {
			return s, err
		}
	}
}

// FreePort is a port of the loopback interface on which nobody listens now.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}
