// Command fill makes a durable store that is full of locks and pools, for a server to
// be started on:
//
//	go run ./testdata/bench/fill -dir data -locks 1000000 -pools 100000 -ttl 1m
//
// It uses the store as the server does, without the wire: every change is synced before
// the next of its caller, and thousands of callers share a sync.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"raisinproxy/backend"
	"raisinproxy/backend/inprocess"
)

func main() {
	dir := flag.String("dir", "", "the data folder to make")
	tenant := flag.String("tenant", "default", "whose they are")
	database := flag.String("database", "postgres", "the database that they are taken in")
	branch := flag.String("branch", "main", "and its branch")
	locks := flag.Int("locks", 1_000_000, "how many locks, event:00000000 and so on")
	pools := flag.Int("pools", 100_000, "how many pools, seats:00000000 and so on, with one unit of a hundred sold")
	ttl := flag.Duration("ttl", time.Hour, "how long each lock is held")
	flag.Parse()
	scope := backend.Scope{Tenant: *tenant, Repository: *database, Branch: *branch}
	if err := fill(context.Background(), *dir, scope, *locks, *pools, *ttl); err != nil {
		fmt.Fprintln(os.Stderr, "fill:", err)
		os.Exit(1)
	}
}

// callers is how many calls wait for a sync together.
const callers = 4096

func fill(ctx context.Context, dir string, scope backend.Scope, locks, pools int, ttl time.Duration) error {
	store, err := inprocess.Open(dir, inprocess.Options{})
	if err != nil {
		return err
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var next atomic.Int64
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < locks+pools && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if err := take(ctx, store, scope, i, locks, ttl); err != nil {
					fail(err)
				}
			}
		})
	}
	all.Wait()
	if err := store.Close(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// take makes the i-th record: locks come first.
func take(ctx context.Context, store *inprocess.Store, scope backend.Scope, i, locks int, ttl time.Duration) error {
	if i >= locks {
		_, err := store.Claim(ctx, scope, fmt.Sprintf("seats:%08d", i-locks), 1, 100)
		return err
	}
	grant, err := store.Acquire(ctx, scope, fmt.Sprintf("event:%08d", i), backend.Request{TTL: ttl})
	if err == nil && !grant.Acquired {
		err = fmt.Errorf("lock %d is taken", i)
	}
	return err
}
