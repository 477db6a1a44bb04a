package redis

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"raisinproxy/backend"
	"raisinproxy/backend/redis/redistest"
)

// Each benchmark runs beside the same scripts sent by go-redis alone, one EVALSHA for each call, on the same
// server: what the store adds (nonces, settling, loss of state) or saves (pipelines) is the difference.

// direct sends scripts without a store.
type direct struct {
	client *goredis.Client
	opts   Options
	judged string
	calls  atomic.Uint64
}

// eval runs a script as a call does: nonce, not_after, and last the nonce before to forget.
func (d *direct) eval(b *testing.B, sc *script, key string, args ...any) []any {
	n := d.calls.Add(1)
	all := append([]any{"direct" + strconv.FormatUint(n, 36), time.Now().Add(time.Minute).UnixMicro(), "0"}, args...)
	all = append(all, "direct"+strconv.FormatUint(n-1, 36))
	reply, err := d.client.EvalSha(context.Background(), sc.sha, []string{key}, all...).Slice()
	if err != nil {
		b.Error(err)
	}
	return reply
}

func benchServer(b *testing.B) (*Store, *direct) {
	b.Helper()
	server := redistest.Start(b, "maxmemory-policy noeviction")
	o := options(b, server.URL())
	s := open(b, o)
	client := goredis.NewClient(&goredis.Options{Addr: server.Addr(), Protocol: 2, PoolSize: 32})
	b.Cleanup(func() { client.Close() })
	for _, sc := range []*script{acquireScript, releaseScript, claimScript} {
		if err := client.ScriptLoad(context.Background(), sc.text).Err(); err != nil {
			b.Fatal(err)
		}
	}
	e, err := s.watch.grants(s.servers.single.Options().Addr)
	if err != nil {
		b.Fatal(err)
	}
	return s, &direct{client: client, opts: s.opts, judged: e.judged}
}

// callers runs f in so many goroutines, b.N times in all.
func callers(b *testing.B, n int, f func(worker int)) {
	b.Helper()
	if n == 1 {
		for b.Loop() {
			f(0)
		}
		return
	}
	var worker atomic.Int64
	b.SetParallelism((n + 1) / 2) // times GOMAXPROCS, which is 2 or more
	b.RunParallel(func(pb *testing.PB) {
		me := int(worker.Add(1))
		for pb.Next() {
			f(me)
		}
	})
}

func BenchmarkAcquireRelease(b *testing.B) {
	s, d := benchServer(b)
	for _, n := range []int{1, 32} {
		b.Run(fmt.Sprintf("callers=%d/store", n), func(b *testing.B) {
			callers(b, n, func(worker int) {
				key := fmt.Sprint("seat:", worker)
				g, err := s.Acquire(context.Background(), scope, key, backend.Request{TTL: time.Minute})
				if err != nil || !g.Acquired {
					b.Errorf("Acquire = %+v, %v", g, err)
					return
				}
				if ok, err := s.Release(context.Background(), scope, key, backend.Proof{Token: g.Token}); !ok {
					b.Error(ok, err)
				}
			})
		})
		b.Run(fmt.Sprintf("callers=%d/direct", n), func(b *testing.B) {
			callers(b, n, func(worker int) {
				key := keyOf(d.opts.Namespace, lockKind, scope, fmt.Sprint("direct:", worker))
				reply := d.eval(b, acquireScript, key, 60000, 86400000, 0, 0, d.judged, 60000, "", 0, 0)
				if reply[0] != "GRANTED" {
					b.Error(reply)
					return
				}
				if reply := d.eval(b, releaseScript, key, reply[2], 60000, "", 0); reply[0] != "YES" {
					b.Error(reply)
				}
			})
		})
	}
}

func BenchmarkClaim(b *testing.B) {
	s, d := benchServer(b)
	for _, n := range []int{1, 32} {
		b.Run(fmt.Sprintf("callers=%d/store", n), func(b *testing.B) {
			callers(b, n, func(int) {
				if c, err := s.Claim(context.Background(), scope, "tickets", 1, 1<<62); err != nil || !c.Claimed {
					b.Errorf("Claim = %+v, %v", c, err)
				}
			})
		})
		b.Run(fmt.Sprintf("callers=%d/direct", n), func(b *testing.B) {
			key := keyOf(d.opts.Namespace, poolKind, scope, "direct")
			callers(b, n, func(int) {
				if reply := d.eval(b, claimScript, key, 1, 1<<62, "gen", "1", "", 0, d.judged); reply[0] != "CLAIMED" {
					b.Error(reply)
				}
			})
		})
	}
}
