package redis

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"time"
)

// Options of a Store. Zero values stand for the defaults that are named.
type Options struct {
	// URL names one Redis: redis://user:password@host:port/db, rediss:// for TLS, unix://user:password@/path?db=0.
	URL string
	// URLs, instead of URL, are some nodes of a Redis Cluster or, with SentinelMaster, the
	// Sentinels. User and password of the first are for all; a Sentinel's own
	// are its parameters sentinel_username and sentinel_password.
	URLs []string
	// SentinelMaster is the name under which the Sentinels watch the master.
	SentinelMaster string
	// Namespace begins every key. It may not contain braces. Default "raisin:locks".
	Namespace string
	// Timeout is for one call, retries and settling included. Default 1 s.
	Timeout time.Duration
	// ContinueOnLoss grants locks although acknowledged state was lost. Otherwise acquires are
	// refused for MaxTTL from when it was noticed. Inventory stops in any case.
	ContinueOnLoss bool
	// MaxTTL is the longest lease that anybody is granted. Default 5 min.
	MaxTTL time.Duration
	// MaxClockSkew is how far the clocks of two Redis servers may be apart. 0 is none.
	MaxClockSkew time.Duration
	// Retention is how long the last token of a free lock is remembered. Default 24 h.
	Retention time.Duration
	// MaxPools is how many pools a tenant may have; 0 stands for any number. Those that were
	// made under no limit, or by hand, do not count.
	MaxPools int
	// MaxLeases is how many live leases a user may have of those taken through this Store,
	// those that are waited for included; 0 stands for any number.
	MaxLeases int
	// MaxWaiters is how many calls may wait for one lock; 0 stands for any number.
	MaxWaiters int
	// WaitReplicas is for how many replicas a change waits, WaitTimeout for how long. Default: none, 100 ms.
	WaitReplicas int
	WaitTimeout  time.Duration
	// StateFile is where the proxy remembers what it knows of Redis, so that a loss is noticed
	// across its own restarts. Each proxy needs one of its own. "" remembers in memory only.
	StateFile string
	// Log receives what operators should know: slog.Default() if nil.
	Log *slog.Logger
}

// Defaults of Options.
const (
	DefaultNamespace = "raisin:locks"
	DefaultTimeout   = time.Second
	DefaultRetention = 24 * time.Hour
	defaultMaxTTL    = 5 * time.Minute
	defaultWait      = 100 * time.Millisecond
)

// maxRetention keeps every sum of a lease and a retention exact in a Lua number.
const maxRetention = 10 * 365 * 24 * time.Hour

// Validate says what is wrong with the options, without any secret of a URL.
func (o Options) Validate() error {
	full := o.withDefaults()
	return full.validate()
}

func (o *Options) validate() error {
	switch {
	case o.URL == "" && len(o.URLs) == 0:
		return errors.New("needs url or urls")
	case o.URL != "" && len(o.URLs) > 0:
		return errors.New("takes url or urls, not both")
	case o.SentinelMaster != "" && len(o.URLs) == 0:
		return errors.New("sentinel_master needs urls, those of the Sentinels")
	case strings.ContainsAny(o.Namespace, "{}"):
		return errors.New("namespace must not contain { or }: they mark what places a key in a Redis Cluster")
	case o.Retention > maxRetention:
		return fmt.Errorf("retention must be at most %v", maxRetention)
	case o.WaitReplicas > 0 && o.WaitTimeout > o.Timeout/4:
		return errors.New("wait_timeout_ms must be at most a quarter of timeout_ms, so that a call can be retried")
	}
	_, err := o.target()
	return err
}

// withDefaults gives a copy that says everything.
func (o Options) withDefaults() Options {
	if o.Namespace == "" {
		o.Namespace = DefaultNamespace
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.MaxTTL <= 0 {
		o.MaxTTL = defaultMaxTTL
	}
	if o.Retention <= 0 {
		o.Retention = DefaultRetention
	}
	if o.WaitTimeout <= 0 {
		o.WaitTimeout = defaultWait
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}

// The shares of Timeout. A call sends its request, again and again if need be, within the first
// three quarters; the rest is for finding out what became of it.
func (o *Options) sendingTime() time.Duration  { return o.Timeout * 3 / 4 }
func (o *Options) settlingTime() time.Duration { return o.Timeout / 4 }

// attemptTime is how long one copy of a request is waited for: half of the sending time, so that
// a connection that died silently leaves time for another one.
func (o *Options) attemptTime() time.Duration { return o.sendingTime() / 2 }

// answerTime is what an answer may take: no further copy is sent with less time left.
func (o *Options) answerTime() time.Duration { return o.sendingTime() / 16 }

// milliseconds rounds up: a lease is never shorter than what was asked for.
func milliseconds(d time.Duration) int64 {
	ms := int64(d / time.Millisecond)
	if d%time.Millisecond > 0 && ms < math.MaxInt64 {
		ms++
	}
	return ms
}
