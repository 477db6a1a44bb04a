package main

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"raisinproxy/internal/identity"
)

// renewal reads files again while the server runs: the users file when it changes, and
// with it the certificates when it is told to. Sessions that are open stay as they are.
// It is safe for concurrent use.
type renewal struct {
	cfg    *Config
	policy *identity.Policy
	log    *slog.Logger
	tls    atomic.Pointer[tls.Config]

	mu   sync.Mutex
	seen fileVersion // of the users file
}

// fileVersion tells one content of a file from the next.
type fileVersion struct {
	modified time.Time
	size     int64
}

// watchInterval is how often the users file is looked at.
const watchInterval = 2 * time.Second

func newRenewal(cfg *Config, policy *identity.Policy, log *slog.Logger) *renewal {
	r := &renewal{cfg: cfg, policy: policy, log: log}
	r.tls.Store(cfg.TLS)
	r.seen, _ = r.version()
	return r
}

func (r *renewal) version() (fileVersion, error) {
	info, err := os.Stat(r.cfg.Auth.UsersFile)
	if err != nil {
		return fileVersion{}, err
	}
	return fileVersion{info.ModTime(), info.Size()}, nil
}

// watch looks at the users file until ctx ends. The result waits for its end.
func (r *renewal) watch(ctx context.Context) (wait func()) {
	if r.cfg.Users == nil {
		return func() {}
	}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(watchInterval):
				r.changed()
			}
		}
	})
	return group.Wait
}

// changed reads the users file if it is not as it was. One that is gone is being
// replaced, or somebody has made a mistake: the users stay.
func (r *renewal) changed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now, err := r.version(); err == nil && now != r.seen {
		r.users()
	}
}

// all reads everything again.
func (r *renewal) all() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cfg.Users != nil {
		r.users()
	}
	if r.cfg.TLS == nil {
		return
	}
	config, problems := loadTLS(&r.cfg.PGWire)
	for _, p := range problems {
		r.log.Error("the certificates were not renewed", "key", p.key, "problem", p.text)
	}
	if config != nil {
		r.tls.Store(config)
		r.log.Info("certificates renewed", "expires", config.Certificates[0].Leaf.NotAfter)
	}
}

func (r *renewal) users() {
	// Before the file is read: a change after that is seen the next time.
	seen, err := r.version()
	var users *identity.Users
	if err == nil {
		users, err = identity.LoadUsers(r.cfg.Auth.UsersFile)
	}
	r.seen = seen
	if err != nil {
		var joined interface{ Unwrap() []error }
		if !errors.As(err, &joined) {
			r.log.Error("the users were not renewed", "problem", err)
			return
		}
		for _, line := range joined.Unwrap() {
			r.log.Error("the users were not renewed", "problem", line)
		}
		return
	}
	r.policy.SetUsers(users)
	r.log.Info("users renewed", "users", users.Len())
}
