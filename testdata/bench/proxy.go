package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"raisinproxy/internal/testservers"
)

// proxy is one configuration of what is measured.
type proxy struct {
	upstream bool // PostgreSQL behind it
	durable  bool
	redis    bool
	locks    int // taken at the start, for an hour
}

func (c proxy) start(ctx context.Context, l *lab, name string) (*server, error) {
	s, err := c.launch(ctx, l, name)
	if err != nil {
		return nil, err
	}
	return s, s.takeLocks(ctx, c.locks)
}

// launch returns when it listens.
func (c proxy) launch(ctx context.Context, l *lab, name string) (*server, error) {
	text, err := c.config(ctx, l, name)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(l.dir, name+".toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return nil, err
	}
	p, err := testservers.StartProxy(ctx, testservers.Options{Path: l.options.proxy, Args: []string{"--config", path}})
	if err != nil {
		return nil, err
	}
	return l.keep(p, p.Process, p.Port), nil
}

// config is what the proxy is told.
func (c proxy) config(ctx context.Context, l *lab, name string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "[pgwire]\nport = 0\nmax_connections = 20000\n[auth]\nmethod = \"trust\"\n")
	// One user has all the locks, more than one may have by default. They are counted all the same.
	fmt.Fprintf(&b, "[locks]\nenabled = true\nmax_ttl_ms = 3600000\nmax_leases_per_user = 2000000\n")
	if c.redis {
		behind, err := l.server(ctx, redis)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "backend = \"redis\"\n[locks.redis]\nurl = \"redis://127.0.0.1:%d/0\"\n", behind.port)
	} else {
		dir := ""
		if c.durable {
			dir = filepath.Join(l.dir, name+".data")
		}
		fmt.Fprintf(&b, "[locks.inprocess]\ndata_dir = %q\n", dir)
	}
	if c.upstream {
		behind, err := l.server(ctx, postgres)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "[upstream]\nurl = %q\n", behind.url())
	}
	return b.String(), nil
}
