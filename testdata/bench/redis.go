package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	goredis "github.com/redis/go-redis/v9"

	"raisinproxy/internal/testservers"
)

// startRedis starts one that writes nothing to disk, as the locks that it is compared with.
func startRedis(ctx context.Context, l *lab, name string) (*server, error) {
	dir := filepath.Join(l.dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	p, err := testservers.StartRedis(ctx, testservers.RedisOptions{Dir: dir})
	if err != nil {
		return nil, err
	}
	return l.keep(p, p.Process, p.Port), nil
}

func (s *server) redisClient(connections int) *goredis.Client {
	return goredis.NewClient(&goredis.Options{Addr: fmt.Sprintf("127.0.0.1:%d", s.port), PoolSize: connections})
}
