package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// innocent is what a client met that only wants its lock, and another that logs in.
type innocent struct {
	pairs   []time.Duration // acquire and release
	logins  []time.Duration
	refused int // log-ins that did not succeed
}

// loginTimeout is how long a client waits for its log-in.
const loginTimeout = 2 * time.Second

// watchInnocent has a client take and give back a lock again and again, and another log
// in ten times a second.
func watchInnocent(ctx context.Context, s *server, length time.Duration) (*innocent, error) {
	conn := s.innocent
	for name, sql := range map[string]string{
		"acquire": "SELECT token FROM raisin_lock_acquire($1, 5000)", "release": "SELECT raisin_lock_release($1, $2)",
	} {
		if _, err := conn.Prepare(ctx, name, sql); err != nil {
			return nil, err
		}
	}
	w := &innocent{}
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	var group sync.WaitGroup
	group.Go(func() { w.logIn(ctx, s.url()) })
	var err error
	for ctx.Err() == nil && err == nil {
		begin := time.Now()
		// A context that ends in mid-call would end the connection.
		if err = pair(context.WithoutCancel(ctx), conn); err == nil {
			w.pairs = append(w.pairs, time.Since(begin))
		}
	}
	group.Wait()
	return w, err
}

func pair(ctx context.Context, conn *pgx.Conn) error {
	const key = "seat:14A"
	var token int64
	var released bool
	if err := conn.QueryRow(ctx, "acquire", key).Scan(&token); err != nil {
		return err
	}
	if err := conn.QueryRow(ctx, "release", key, token).Scan(&released); err != nil {
		return err
	}
	if !released {
		return fmt.Errorf("a lock that was held by %d is gone", token)
	}
	return nil
}

// logIn logs in ten times a second.
func (w *innocent) logIn(ctx context.Context, url string) {
	each := time.NewTicker(100 * time.Millisecond)
	defer each.Stop()
	for {
		select {
		case <-each.C:
		case <-ctx.Done():
			return
		}
		begin := time.Now()
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), loginTimeout)
		conn, err := pgx.Connect(limited, url)
		if err != nil {
			w.refused++
		} else {
			w.logins = append(w.logins, time.Since(begin))
			_ = conn.Close(limited) // it has served
		}
		cancel()
	}
}

// percentile of some times; 0 if there are none.
func percentile(times []time.Duration, percent int) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[(len(sorted)-1)*percent/100]
}

// micros is a percentile in microseconds: alone, beside an attack on another server, and
// amid one.
func micros(alone, beside, amid []time.Duration, percent int) string {
	a, b, c := percentile(alone, percent), percentile(beside, percent), percentile(amid, percent)
	return fmt.Sprintf("%d, %d, %d", a.Microseconds(), b.Microseconds(), c.Microseconds())
}
