package main

import (
	"crypto/tls"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"raisinproxy/internal/identity"
	"raisinproxy/pgwire/upstream"
)

// Config is everything that the server is told, checked: see load. Paths in it are absolute or relative to the working directory.
type Config struct {
	// DevMode: nothing was configured, everybody is let in, all is lost at exit.
	DevMode bool
	// LogLevel has no key in the file: only --log-level and RAISIN_LOG_LEVEL.
	LogLevel slog.Level

	PGWire      PGWireConfig
	Auth        AuthConfig
	Locks       LocksConfig
	Upstream    UpstreamConfig
	Replication ReplicationConfig

	// Users, CertMap and TLS are the loaded users_file, cert_map_file, tls_cert and
	// tls_key; nil without.
	Users   *identity.Users
	CertMap *identity.CertMap
	TLS     *tls.Config
	// Behind is what [upstream] describes; nil without the section.
	Behind *upstream.Server
	// Asked is how auth_query's connection is made; nil without one.
	Asked *pgconn.Config
	// EventLoops is how many threads serve sessions that need no goroutine; 0: one.
	EventLoops int
	source     *document // nil in dev mode
	// Warnings are for the log at start: nothing in them is an error.
	Warnings []string
}

// PGWireConfig is [pgwire]: the listener and its limits.
type PGWireConfig struct {
	BindAddress     string // an IP address or a host name; "*" is every address
	Port            int    // 0 takes a free one
	MaxConnections  int
	TLSCert         string
	TLSKey          string
	TLSClientCA     string
	RequireTLS      bool
	StartupTimeout  time.Duration
	IdleTimeout     time.Duration // 0: never
	ShutdownTimeout time.Duration
	MaxMessageBytes int
}

// AuthConfig is [auth].
type AuthConfig struct {
	Method         string
	UsersFile      string
	CertMapFile    string
	SaltFile       string // "": in the data folder, or beside the state file
	AuthQuery      string
	AllowAnonymous bool
	// AllowAnonymousSQL lets sessions without a name work as the upstream's user.
	AllowAnonymousSQL bool
	AdminUsers        []string
}

// LocksConfig is [locks] with its backends.
type LocksConfig struct {
	Enabled        bool
	Backend        string
	ReaperInterval time.Duration
	MaxTTL         time.Duration
	MaxWait        time.Duration // of a call in line for a lock
	// Bounds of what one user, or the users of one tenant, can take; 0: none.
	MaxLeasesPerUser  int
	MaxPoolsPerTenant int
	MaxWaitersPerKey  int
	MaxKeysPerCall    int
	InProcess         InProcessConfig
	Redis             RedisConfig
}

// InProcessConfig is [locks.inprocess].
type InProcessConfig struct {
	DataDir string // "" is memory only
	Verify  string // "group" | "answer": when damage to what an answer rests on would be noticed
	// OnRestore is "pause" or "continue": locks in a store that does not know of all leases.
	OnRestore string
}

// RedisConfig is [locks.redis].
type RedisConfig struct {
	URL            string
	URLs           []string
	SentinelMaster string
	Namespace      string
	Timeout        time.Duration
	OnStateLoss    string
	MaxClockSkew   time.Duration
	Retention      time.Duration
	WaitReplicas   int
	WaitTimeout    time.Duration
	StateFile      string // what the proxy knows of this Redis; each proxy needs its own
}

// UpstreamConfig is [upstream].
type UpstreamConfig struct {
	URL          string
	User         string
	PasswordFile string
	Open         string
	// The role of sessions without a name; "": that of everybody.
	AnonymousUser         string
	AnonymousPasswordFile string
	// Who runs auth_query, and where.
	AuthUser         string
	AuthPasswordFile string
	AuthDatabase     string
	// ShareAuthUser: AuthUser may be the role that clients work as.
	ShareAuthUser bool
}

// ReplicationConfig is [replication].
type ReplicationConfig struct {
	Enabled bool
}

// Values of auth.method and locks.backend. Those of auth.method that are not
// here are the constants of package identity.
const (
	backendInProcess = "inprocess"
	backendRedis     = "redis"
)

// Values of upstream.open.
const (
	openAtLogin    = "login"
	openAtFirstUse = "first use"
)

func defaultConfig() *Config {
	return &Config{
		PGWire: PGWireConfig{
			BindAddress:     "127.0.0.1",
			Port:            6433,
			MaxConnections:  1000,
			StartupTimeout:  10 * time.Second,
			ShutdownTimeout: 10 * time.Second,
			MaxMessageBytes: maxMessageBytes,
		},
		Auth: AuthConfig{
			Method:    string(identity.SCRAM),
			UsersFile: "users.txt",
		},
		Locks: LocksConfig{
			Backend:           backendInProcess,
			ReaperInterval:    30 * time.Second,
			MaxTTL:            300 * time.Second,
			MaxLeasesPerUser:  100_000,
			MaxPoolsPerTenant: 100_000,
			MaxWait:           300 * time.Second,
			MaxWaitersPerKey:  10_000,
			MaxKeysPerCall:    100,
			InProcess:         InProcessConfig{DataDir: "raisinproxy-data", Verify: "group", OnRestore: "pause"},
			Redis: RedisConfig{
				URL:          "redis://127.0.0.1:6379/0",
				Namespace:    "raisin:locks",
				Timeout:      time.Second,
				OnStateLoss:  "pause",
				MaxClockSkew: 2 * time.Second,
				Retention:    24 * time.Hour,
				WaitTimeout:  100 * time.Millisecond,
				StateFile:    "raisinproxy-redis-state.json",
			},
		},
		Upstream: UpstreamConfig{URL: "postgres://service@127.0.0.1:5432/", Open: openAtLogin, AuthDatabase: "postgres"},
	}
}

// Bounds that are not obvious.
const (
	// maxMessageBytes is PostgreSQL's, MaxAllocSize: one less than 1 GiB.
	maxMessageBytes = 0x3fffffff
	// minMessageBytes is what is allowed before authentication, where max_message_bytes
	// does not count yet.
	minMessageBytes = identity.MaxResponseBytes
	daySecs         = 24 * 60 * 60
	yearMillis      = 365 * daySecs * 1000
)

// key is one key of the config file: where its value goes, and what it may be.
type key struct {
	path string
	set  setter
}

// keys are all that there are. Add a key here, to defaultConfig and to
// testdata/config/full.toml; a test compares the three.
func (c *Config) keys() []key {
	w, a, l, i, r, u := &c.PGWire, &c.Auth, &c.Locks, &c.Locks.InProcess, &c.Locks.Redis, &c.Upstream
	return []key{
		{"pgwire.bind_address", text(&w.BindAddress)},
		{"pgwire.port", integer(&w.Port, 0, 65535)},
		{"pgwire.max_connections", integer(&w.MaxConnections, 1, 1_000_000)},
		{"pgwire.tls_cert", text(&w.TLSCert)},
		{"pgwire.tls_key", text(&w.TLSKey)},
		{"pgwire.tls_client_ca", text(&w.TLSClientCA)},
		{"pgwire.require_tls", boolean(&w.RequireTLS)},
		{"pgwire.startup_timeout_secs", duration(&w.StartupTimeout, time.Second, 1, 600)},
		{"pgwire.idle_timeout_secs", duration(&w.IdleTimeout, time.Second, 0, 365*daySecs)},
		{"pgwire.shutdown_timeout_secs", duration(&w.ShutdownTimeout, time.Second, 0, daySecs)},
		{"pgwire.max_message_bytes", integer(&w.MaxMessageBytes, minMessageBytes, maxMessageBytes)},

		{"auth.method", oneOf(&a.Method, string(identity.SCRAM), string(identity.Password), string(identity.Cert), string(identity.Trust))},
		{"auth.users_file", text(&a.UsersFile)},
		{"auth.cert_map_file", text(&a.CertMapFile)},
		{"auth.auth_query", text(&a.AuthQuery)},
		{"auth.salt_file", text(&a.SaltFile)},
		{"auth.allow_anonymous", boolean(&a.AllowAnonymous)},
		{"auth.allow_anonymous_sql", boolean(&a.AllowAnonymousSQL)},
		{"auth.admin_users", texts(&a.AdminUsers)},

		{"locks.enabled", boolean(&l.Enabled)},
		{"locks.backend", oneOf(&l.Backend, backendInProcess, backendRedis)},
		{"locks.reaper_interval_secs", duration(&l.ReaperInterval, time.Second, 1, daySecs)},
		{"locks.max_ttl_ms", duration(&l.MaxTTL, time.Millisecond, 1, yearMillis)},
		{"locks.max_wait_ms", duration(&l.MaxWait, time.Millisecond, 0, yearMillis)},

		{"locks.max_leases_per_user", integer(&l.MaxLeasesPerUser, 0, 1<<31-1)},
		{"locks.max_pools_per_tenant", integer(&l.MaxPoolsPerTenant, 0, 1<<31-1)},
		{"locks.max_waiters_per_key", integer(&l.MaxWaitersPerKey, 0, 1<<31-1)},
		{"locks.max_keys_per_call", integer(&l.MaxKeysPerCall, 1, 100_000)},

		{"locks.inprocess.data_dir", text(&i.DataDir)},
		{"locks.inprocess.verify", oneOf(&i.Verify, "group", "answer")},
		{"locks.inprocess.on_restore", oneOf(&i.OnRestore, "pause", "continue")},

		{"locks.redis.url", text(&r.URL)},
		{"locks.redis.urls", texts(&r.URLs)},
		{"locks.redis.sentinel_master", text(&r.SentinelMaster)},
		{"locks.redis.namespace", text(&r.Namespace)},
		{"locks.redis.timeout_ms", duration(&r.Timeout, time.Millisecond, 1, daySecs*1000)},
		{"locks.redis.on_state_loss", oneOf(&r.OnStateLoss, "pause", "continue")},
		{"locks.redis.max_clock_skew_ms", duration(&r.MaxClockSkew, time.Millisecond, 0, daySecs*1000)},
		{"locks.redis.retention_hours", duration(&r.Retention, time.Hour, 1, 365*24)},
		{"locks.redis.retention_secs", duration(&r.Retention, time.Second, 1, 365*daySecs)},
		{"locks.redis.wait_replicas", integer(&r.WaitReplicas, 0, 1000)},
		{"locks.redis.wait_timeout_ms", duration(&r.WaitTimeout, time.Millisecond, 1, daySecs*1000)},
		{"locks.redis.state_file", text(&r.StateFile)},

		{"upstream.url", text(&u.URL)},
		{"upstream.user", text(&u.User)},
		{"upstream.password_file", text(&u.PasswordFile)},
		{"upstream.open", oneOf(&u.Open, openAtLogin, openAtFirstUse)},
		{"upstream.anonymous_user", text(&u.AnonymousUser)},
		{"upstream.anonymous_password_file", text(&u.AnonymousPasswordFile)},
		{"upstream.auth_user", text(&u.AuthUser)},
		{"upstream.auth_password_file", text(&u.AuthPasswordFile)},
		{"upstream.auth_database", text(&u.AuthDatabase)},
		{"upstream.share_auth_user", boolean(&u.ShareAuthUser)},

		{"replication.enabled", boolean(&c.Replication.Enabled)},
	}
}
