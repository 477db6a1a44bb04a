package main

import (
	"context"
	"fmt"
	"strconv"
	"syscall"

	goredis "github.com/redis/go-redis/v9"
)

// startRedis starts one that writes nothing to disk, as the locks that it is compared with.
func startRedis(ctx context.Context, l *lab, name string) (*server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	p, err := launch(l.dir, name, nil, syscall.SIGTERM, "redis-server",
		"--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--save", "", "--appendonly", "no")
	s, err := l.keep(p, err, port)
	if err != nil {
		return nil, err
	}
	client := s.redisClient(1)
	defer client.Close()
	return s, p.await(ctx, func(ctx context.Context) error { return client.Ping(ctx).Err() })
}

func (s *server) redisClient(connections int) *goredis.Client {
	return goredis.NewClient(&goredis.Options{Addr: fmt.Sprintf("127.0.0.1:%d", s.port), PoolSize: connections})
}
