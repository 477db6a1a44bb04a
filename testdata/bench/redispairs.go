package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// redisPairs takes and frees locks in Redis, each client on a connection of its own.
type redisPairs struct {
	clients int
	prepare func(ctx context.Context, l *lab, client *goredis.Client) (pair, error)
}

// pair takes and frees one lock.
type pair func(ctx context.Context, conn *goredis.Conn, key string) error

func (p redisPairs) drive(ctx context.Context, l *lab, s *server) (sample, error) {
	client := s.redisClient(p.clients + 1)
	defer client.Close()
	do, err := p.prepare(ctx, l, client)
	if err != nil {
		return sample{}, err
	}
	var done atomic.Int64
	faults := make(chan error, p.clients)
	var group sync.WaitGroup
	start := time.Now()
	end := start.Add(time.Duration(l.options.seconds) * time.Second)
	for id := range p.clients {
		group.Go(func() {
			conn := client.Conn()
			defer conn.Close()
			for time.Now().Before(end) {
				if err := do(ctx, conn, fmt.Sprint("seat-", id*10000+rand.IntN(10000))); err != nil {
					faults <- err
					return
				}
				done.Add(1)
			}
		})
	}
	group.Wait()
	select {
	case err := <-faults:
		return sample{}, err
	default:
		n := float64(done.Load())
		return sample{value: n / time.Since(start).Seconds(), done: n}, nil
	}
}

// deleteIfMine is the script that the documentation of SET gives.
var deleteIfMine = goredis.NewScript(`if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end`)

// setAndDelete is the lock that the documentation of SET describes.
func setAndDelete(ctx context.Context, _ *lab, client *goredis.Client) (pair, error) {
	return func(ctx context.Context, conn *goredis.Conn, key string) error {
		mine := strconv.FormatUint(rand.Uint64(), 36)
		if err := conn.SetArgs(ctx, key, mine, goredis.SetArgs{Mode: "NX", TTL: time.Minute}).Err(); err != nil {
			return err
		}
		if n, err := deleteIfMine.EvalSha(ctx, conn, []string{key}, mine).Int(); err != nil || n != 1 {
			return fmt.Errorf("the lock was not deleted: %w", err)
		}
		return nil
	}, deleteIfMine.Load(ctx, client).Err()
}

// ownScripts are the scripts of the proxy, with what the proxy would send.
func ownScripts(ctx context.Context, l *lab, client *goredis.Client) (pair, error) {
	texts := map[string]string{}
	for _, name := range []string{"prelude", "queue", "acquire", "release"} {
		text, err := os.ReadFile(filepath.Join(l.root, "backend/redis/lua", name+".lua"))
		if err != nil {
			return nil, err
		}
		texts[name] = string(text)
	}
	acquire, release := goredis.NewScript(texts["prelude"]+texts["queue"]+texts["acquire"]), goredis.NewScript(texts["prelude"]+texts["queue"]+texts["release"])
	if err := firstOf(acquire.Load(ctx, client).Err(), release.Load(ctx, client).Err()); err != nil {
		return nil, err
	}
	judged, err := heartbeat(ctx, client)
	if err != nil {
		return nil, err
	}
	const ttl, retention = "60000", "86400000"
	return func(ctx context.Context, conn *goredis.Conn, key string) error {
		keys := []string{"bench:lock:{default:postgres:main:" + key + "}"}
		until := strconv.FormatInt(time.Now().Add(time.Second).UnixMicro(), 10)
		taking, freeing := strconv.FormatUint(rand.Uint64(), 36), strconv.FormatUint(rand.Uint64(), 36)
		taken, err := acquire.EvalSha(ctx, conn, keys, taking, until, "0", ttl, retention, "0", "0", judged, ttl, benchUser, "0", "0").StringSlice()
		if err != nil || taken[0] != "GRANTED" {
			return fmt.Errorf("acquire: %q %w", taken, err)
		}
		freed, err := release.EvalSha(ctx, conn, keys, freeing, until, "0", taken[2], ttl, benchUser, "0", taking).StringSlice()
		if err != nil || freed[0] != "YES" {
			return fmt.Errorf("release: %q %w", freed, err)
		}
		return nil
	}, nil
}

// heartbeat makes one, and gives what the scripts compare with it: prelude.lua says what that is.
func heartbeat(ctx context.Context, client *goredis.Client) (string, error) {
	const name, beat = "bench", "bench:beat"
	info, err := client.InfoMap(ctx, "server", "replication").Result()
	if err != nil {
		return "", err
	}
	judged := strings.Join([]string{info["Server"]["run_id"], info["Replication"]["master_replid"], name, beat}, " ")
	return judged, client.HSet(ctx, beat, "gen", name).Err()
}
