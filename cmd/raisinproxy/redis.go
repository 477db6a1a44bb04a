package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"

	"raisinproxy/backend"
	"raisinproxy/backend/redis"
)

// openRedis opens the backend of [locks.redis]. Redis need not answer yet.
func openRedis(ctx context.Context, c *LocksConfig, log *slog.Logger) (backend.Backend, error) {
	store, err := redis.Open(ctx, c.redisOptions(log))
	if err != nil {
		return nil, fmt.Errorf("[locks.redis] %w", err)
	}
	return store, nil
}

func (c *LocksConfig) redisOptions(log *slog.Logger) redis.Options {
	r := &c.Redis
	return redis.Options{
		URL:            r.URL,
		URLs:           r.URLs,
		SentinelMaster: r.SentinelMaster,
		Namespace:      r.Namespace,
		Timeout:        r.Timeout,
		ContinueOnLoss: r.OnStateLoss == "continue",
		MaxTTL:         c.MaxTTL,
		MaxClockSkew:   r.MaxClockSkew,
		Retention:      r.Retention,
		MaxPools:       c.MaxPoolsPerTenant,
		MaxLeases:      c.MaxLeasesPerUser,
		MaxWaiters:     c.MaxWaitersPerKey,
		WaitReplicas:   r.WaitReplicas,
		WaitTimeout:    r.WaitTimeout,
		StateFile:      r.StateFile,
		Log:            log,
	}
}

// checkRedis checks [locks.redis] whether or not it is used, as everything else.
func (k *checker) checkRedis() {
	r := &k.cfg.Locks.Redis
	if len(r.URLs) > 0 && !k.doc.has("locks.redis.url") {
		r.URL = "" // the default is for one Redis
	}
	if r.StateFile == "" && !k.wrong("locks.redis.state_file") {
		k.add("locks.redis.state_file", "must not be empty: without it a loss of state is not noticed across a restart")
	}
	if r.StateFile != "" && k.cfg.Locks.Enabled && k.cfg.Locks.Backend == backendRedis {
		if err := unwritable(r.StateFile); err != nil {
			k.add("locks.redis.state_file", "cannot be kept: %v", err)
		}
	}
	if k.doc.has("locks.redis.retention_hours") && k.doc.has("locks.redis.retention_secs") {
		k.add("locks.redis.retention_secs", "takes the place of retention_hours: give one of them")
	}
	if r.Namespace == "" && !k.wrong("locks.redis.namespace") {
		k.add("locks.redis.namespace", "must not be empty")
	}
	if err := k.cfg.Locks.redisOptions(nil).Validate(); err != nil {
		k.add("locks.redis", "%v", err)
	}
	if k.cfg.Locks.Backend == backendRedis && hasPassword(append([]string{r.URL}, r.URLs...)) {
		k.warnOfReaders("locks.redis.url", k.doc.path)
	}
}

func hasPassword(urls []string) bool {
	for _, text := range urls {
		if u, err := url.Parse(text); err == nil {
			if _, has := u.User.Password(); has {
				return true
			}
		}
	}
	return false
}

const adoptHelp = `Usage:
  raisinproxy adopt --config FILE [--init] [--allow-create]

Accepts the state of the Redis of [locks.redis] as it is: proxies that stopped their
inventory because Redis lost acknowledged state go on within a second. Look first at
what is there: what was lost may be sold again.

  --init           make the id record of a namespace that has none
  --allow-create   let the next claim create a pool that is missing, with its capacity;
                   otherwise a claim fails until you set it: HSET KEY n UNITS
`

// adopt is the command. Its --config may stand before or after its name.
func adopt(ctx context.Context, o *options, args []string, std streams) error {
	var a redis.AdoptOptions
	flags := flag.NewFlagSet("adopt", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error says it
	config := flags.String("config", o.config.value, "")
	flags.BoolVar(&a.Init, "init", false, "")
	flags.BoolVar(&a.AllowCreate, "allow-create", false, "")
	err := flags.Parse(args)
	switch {
	case err != nil:
		return usagef("adopt: %v", wrongFlag(err, flags))
	case flags.NArg() > 0:
		return usagef("adopt takes no argument but its flags")
	case *config == "":
		return usagef("adopt needs --config FILE")
	}
	o.config = option{name: "--config", value: *config}
	cfg, problems := load(o)
	if len(problems) > 0 {
		printProblems(std.err, problems)
		return errReported
	}
	if cfg.Locks.Backend != backendRedis {
		return errors.New(`adopt: [locks] backend is not "redis"`)
	}
	adopted, err := redis.Adopt(ctx, cfg.Locks.redisOptions(newLogger(std.err, cfg.LogLevel)), a)
	if err != nil {
		return fmt.Errorf("adopt: %w", err)
	}
	before := "there was none"
	if len(adopted.Before) > 0 {
		before = "before: " + strings.Join(adopted.Before, " ")
	}
	fmt.Fprintf(std.out, "namespace %s has the id %s now; %s\n", cfg.Locks.Redis.Namespace, adopted.ID, before)
	return nil
}
