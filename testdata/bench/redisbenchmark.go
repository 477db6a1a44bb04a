package main

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"time"
)

// redisBenchmark runs the two halves of a lock's life one after the other, since redis-benchmark
// sends one command only. It is in C, and takes less of the machine than go-redis.
type redisBenchmark struct{ clients int }

// probe is how many commands find out the rate.
const probe = 20_000

func (b redisBenchmark) drive(ctx context.Context, l *lab, s *server) (sample, error) {
	const key, mine = "bench-__rand_int__", "mine"
	take := []string{"SET", key, mine, "NX", "PX", "60000"}
	drop := []string{"EVALSHA", deleteIfMine.Hash(), "1", key, mine}
	client := s.redisClient(1)
	defer client.Close()
	if err := deleteIfMine.Load(ctx, client).Err(); err != nil {
		return sample{}, err
	}
	half := time.Duration(l.options.seconds) * time.Second / 2
	rate, err := b.run(ctx, s, probe, take)
	if err != nil {
		return sample{}, err
	}
	n := int(rate * half.Seconds())
	if rate, err = b.run(ctx, s, n, take); err != nil {
		return sample{}, err
	}
	each := 1 / rate
	if rate, err = b.run(ctx, s, n, drop); err != nil {
		return sample{}, err
	}
	each += 1 / rate
	return sample{value: 1 / each, done: float64(n)}, nil
}

// run gives commands a second. As many keys as commands: most are free when they are taken.
func (b redisBenchmark) run(ctx context.Context, s *server, n int, command []string) (float64, error) {
	args := []string{"-h", "127.0.0.1", "-p", strconv.Itoa(s.port), "-c", strconv.Itoa(b.clients),
		"-n", strconv.Itoa(n), "-r", strconv.Itoa(n), "-q"}
	said, err := exec.CommandContext(ctx, "redis-benchmark", append(args, command...)...).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("redis-benchmark: %w: %s", err, said)
	}
	return find(string(said), `([0-9.]+) requests per second`)
}
