package redis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// A proxy hears of offers on a channel of its own. What it does not hear its polls find, up to a second later.

// quiet is how long nothing need be heard on a connection that is not dead.
const quiet = 5 * time.Second

// channelOf is where a proxy hears of locks that are offered to its calls. lua/queue.lua makes it, too.
func channelOf(namespace, proxy string) string { return namespace + ":w:" + proxy }

// listen hears of offers until the Store is closed.
func (s *Store) listen() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s.work.Go(func() {
		<-s.stop
		cancel()
	})
	for ctx.Err() == nil {
		err := s.hear(ctx)
		s.lines.pollAll()
		s.log.Debug("redis: offers of locks are not heard", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(pollEvery):
		}
	}
}

// hear hears of offers until the connection fails or ctx ends.
func (s *Store) hear(ctx context.Context) error {
	sub := s.probe.subscribe(ctx, channelOf(s.opts.Namespace, s.life))
	defer context.AfterFunc(ctx, func() { _ = sub.Close() })() // ends the read
	defer func() { _ = sub.Close() }()
	for asked := false; ; {
		message, err := sub.ReceiveTimeout(ctx, quiet)
		if silent, ok := errors.AsType[net.Error](err); ok && silent.Timeout() && !asked {
			asked = true
			err = sub.Ping(ctx)
		} else if err == nil {
			asked = false
		}
		if err != nil {
			return err
		}
		switch m := message.(type) {
		case *goredis.Subscription:
			s.lines.pollAll() // what was offered before was not heard
		case *goredis.Message:
			s.heard(ctx, m.Payload)
		}
	}
}

// heard is told 'key ticket'.
func (s *Store) heard(ctx context.Context, text string) {
	i := strings.LastIndexByte(text, ' ')
	if i < 0 {
		return
	}
	key, ticket := text[:i], text[i+1:]
	if !s.lines.offered(key, ticket) && strings.HasPrefix(ticket, s.life) {
		s.work.Go(func() { s.refuseOffer(ctx, key, ticket) })
	}
}

func (s *servers) subscribe(ctx context.Context, channel string) *goredis.PubSub {
	if s.single != nil {
		return s.single.Subscribe(ctx, channel)
	}
	return s.cluster.Subscribe(ctx, channel)
}

// warnIfDeaf tells if offers cannot be sent or heard.
func (s *Store) warnIfDeaf(ctx context.Context, node *goredis.Client, log *slog.Logger) {
	channel := channelOf(s.opts.Namespace, s.life)
	err := node.Publish(ctx, channel, "").Err()
	if err == nil {
		sub := node.Subscribe(ctx, channel)
		defer func() { _ = sub.Close() }()
		_, err = sub.ReceiveTimeout(ctx, s.opts.attemptTime())
	}
	if said, ok := errors.AsType[goredis.Error](err); ok {
		log.Warn("redis: proxies may not tell each other who gets a lock next: those who wait in line find out up to a second later",
			"needs", fmt.Sprintf("+publish +subscribe &%s", channelOf(s.opts.Namespace, "*")), "error", said)
	}
}
