package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// target is what the options' URLs name. One of its fields is set.
type target struct {
	single   *goredis.Options
	sentinel *goredis.FailoverOptions
	cluster  *goredis.ClusterOptions
}

var errURL = errors.New(`not a Redis URL: it is written redis://user:password@host:port/db, rediss:// for TLS, or unix://user:password@/path?db=0`)

// target reads the URLs. Its errors quote nothing of them: a password may be there.
func (o *Options) target() (target, error) {
	switch {
	case o.URL != "":
		single, err := goredis.ParseURL(o.URL)
		if err != nil {
			return target{}, fmt.Errorf("url: %w", errURL)
		}
		return target{single: single}, nil
	case o.SentinelMaster != "":
		return o.sentinels()
	}
	return o.clusterNodes()
}

func (o *Options) sentinels() (target, error) {
	var all *goredis.FailoverOptions
	for i, text := range o.URLs {
		u, err := url.Parse(text)
		if err != nil {
			return target{}, fmt.Errorf("urls[%d]: %w", i, errURL)
		}
		one, err := goredis.ParseFailoverURL(sentinelURL(u, o.SentinelMaster))
		switch {
		case err != nil:
			return target{}, fmt.Errorf("urls[%d]: %w", i, errURL)
		case all == nil:
			all = one
		default:
			all.SentinelAddrs = append(all.SentinelAddrs, one.SentinelAddrs...)
		}
	}
	if all.TLSConfig != nil {
		all.TLSConfig.ServerName = "" // each has its own name
	}
	return target{sentinel: all}, nil
}

// sentinelURL writes one of our URLs as go-redis takes it. There the user before the @ is the Sentinel's, and
// that of Redis a parameter; here it is the other way round, so that every URL of this
// configuration says in the same place who the user of Redis is.
func sentinelURL(u *url.URL, master string) string {
	query := u.Query()
	query.Set("master_name", master)
	if password, ok := u.User.Password(); ok {
		query.Set("password", password)
	}
	if name := u.User.Username(); name != "" {
		query.Set("username", name)
	}
	u.User = nil
	if query.Has("sentinel_username") || query.Has("sentinel_password") {
		u.User = url.UserPassword(query.Get("sentinel_username"), query.Get("sentinel_password"))
	}
	query.Del("sentinel_username")
	query.Del("sentinel_password")
	u.RawQuery = query.Encode()
	return u.String()
}

func (o *Options) clusterNodes() (target, error) {
	var all *goredis.ClusterOptions
	for i, text := range o.URLs {
		one, err := goredis.ParseClusterURL(text)
		switch {
		case err != nil:
			return target{}, fmt.Errorf("urls[%d]: %w", i, errURL)
		case all == nil:
			all = one
		default:
			all.Addrs = append(all.Addrs, one.Addrs...)
		}
	}
	if all.TLSConfig != nil {
		all.TLSConfig.ServerName = "" // each has its own name
	}
	return target{cluster: all}, nil
}

// poolSize bounds the connections to one server: the lanes' and the heartbeat's.
const poolSize = maxLanes + 4

// servers are the connections to whatever the target is. Safe for concurrent use.
type servers struct {
	single  *goredis.Client // also the master that Sentinels name
	cluster *goredis.ClusterClient

	mu    sync.Mutex
	asked map[string]*goredis.Client // Cluster nodes that own no slot yet, by address
	node  func(addr string) *goredis.Client
}

// connect makes clients, which connect when they are used. connected runs on every new
// connection before anything else is sent on it; if it fails the connection is closed.
//
// go-redis must not repeat a request by itself: what was sent how often decides what a
// call may answer. A single client obeys MaxRetries; of the Cluster's client only the
// topology is used (its own retries disregard MaxRetries), and requests go to the node's client.
func connect(o *Options, connected func(ctx context.Context, cn *goredis.Conn) error) (*servers, error) {
	t, err := o.target()
	if err != nil {
		return nil, err
	}
	timeout := o.attemptTime()
	s := &servers{asked: make(map[string]*goredis.Client)}
	switch {
	case t.single != nil:
		c := t.single
		tune(&c.Protocol, &c.MaxRetries, &c.DialerRetries, &c.PoolSize, &c.DialTimeout, &c.ReadTimeout, &c.WriteTimeout, &c.PoolTimeout, timeout)
		c.ContextTimeoutEnabled, c.DisableIdentity, c.OnConnect = true, true, connected
		c.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
		s.single = goredis.NewClient(c)
	case t.sentinel != nil:
		c := t.sentinel
		tune(&c.Protocol, &c.MaxRetries, &c.DialerRetries, &c.PoolSize, &c.DialTimeout, &c.ReadTimeout, &c.WriteTimeout, &c.PoolTimeout, timeout)
		c.ContextTimeoutEnabled, c.DisableIdentity, c.OnConnect = true, true, connected
		s.single = goredis.NewFailoverClient(c)
	default:
		c := t.cluster
		tune(&c.Protocol, &c.MaxRetries, &c.DialerRetries, &c.PoolSize, &c.DialTimeout, &c.ReadTimeout, &c.WriteTimeout, &c.PoolTimeout, timeout)
		c.ContextTimeoutEnabled, c.DisableIdentity, c.OnConnect = true, true, connected
		c.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
		s.cluster = goredis.NewClusterClient(c)
		s.cluster.OnNewNode(func(node *goredis.Client) { node.AddHook(dialHook{}) })
		s.node = func(addr string) *goredis.Client { return s.extraNode(c, connected, addr) }
	}
	if s.single != nil {
		s.single.AddHook(dialHook{})
	}
	return s, nil
}

func tune(protocol, maxRetries, dialerRetries, pool *int, dial, read, write, wait *time.Duration, timeout time.Duration) {
	*protocol, *maxRetries, *dialerRetries, *pool = 2, -1, 1, poolSize
	*dial, *read, *write, *wait = timeout, timeout, timeout, timeout
}

func (s *servers) extraNode(c *goredis.ClusterOptions, connected func(ctx context.Context, cn *goredis.Conn) error, addr string) *goredis.Client {
	one := &goredis.Options{Addr: addr, Username: c.Username, Password: c.Password, TLSConfig: tlsFor(c.TLSConfig)}
	tune(&one.Protocol, &one.MaxRetries, &one.DialerRetries, &one.PoolSize, &one.DialTimeout, &one.ReadTimeout, &one.WriteTimeout, &one.PoolTimeout, c.DialTimeout)
	one.ContextTimeoutEnabled, one.DisableIdentity, one.OnConnect = true, true, connected
	one.MaintNotificationsConfig = c.MaintNotificationsConfig
	client := goredis.NewClient(one)
	client.AddHook(dialHook{})
	return client
}

func tlsFor(c *tls.Config) *tls.Config {
	if c == nil {
		return nil
	}
	return c.Clone()
}

// forKey is the master that has key.
func (s *servers) forKey(ctx context.Context, key string) (*goredis.Client, error) {
	if s.single != nil {
		return s.single, nil
	}
	node, err := s.cluster.MasterForKey(ctx, key)
	if err != nil {
		return nil, &unsentError{err}
	}
	return node, nil
}

// at is the Cluster's node with this address, which another node has named.
func (s *servers) at(ctx context.Context, addr string) *goredis.Client {
	var found *goredis.Client
	var mu sync.Mutex
	_ = s.cluster.ForEachMaster(ctx, func(_ context.Context, node *goredis.Client) error {
		if node.Options().Addr == addr {
			mu.Lock()
			defer mu.Unlock()
			found = node
		}
		return nil
	})
	if found != nil {
		return found
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked[addr] == nil {
		s.asked[addr] = s.node(addr)
	}
	return s.asked[addr]
}

// changed says that the topology is not what it was.
func (s *servers) changed(ctx context.Context) {
	if s.cluster != nil {
		s.cluster.ReloadState(ctx)
	}
}

// each calls f for every master.
func (s *servers) each(ctx context.Context, f func(ctx context.Context, node *goredis.Client) error) error {
	if s.single != nil {
		return f(ctx, s.single)
	}
	return s.cluster.ForEachMaster(ctx, f)
}

func (s *servers) close() error {
	if s.single != nil {
		return s.single.Close()
	}
	err := s.cluster.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, node := range s.asked {
		err = errors.Join(err, node.Close())
	}
	return err
}
