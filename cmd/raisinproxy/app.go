package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"strings"

	"raisinproxy/backend"
	"raisinproxy/backend/inprocess"
	"raisinproxy/internal/identity"
	"raisinproxy/pgwire"
	"raisinproxy/pgwire/login"
	"raisinproxy/sqlfuncs"
)

// App is the server put together: a backend, the functions on it, and the
// PostgreSQL front end that listens.
type App struct {
	cfg       *Config
	log       *slog.Logger
	backend   backend.Backend // nil: the locks are disabled
	control   *control        // nil: there is no data folder, or it has no room for a socket
	functions *sqlfuncs.Service
	server    *pgwire.Server
	listener  net.Listener
	renewal   *renewal
	users     *identity.AuthQuery // nil: without auth_query
}

// NewApp opens the backend and the listener; clients wait in its queue until Run. ctx is for the opening.
// Exactly one of Run and Close is to be called then.
func NewApp(ctx context.Context, cfg *Config, log *slog.Logger) (*App, error) {
	a := &App{cfg: cfg, log: log}
	var err error
	if a.listener, err = listen(&cfg.PGWire); err != nil {
		return nil, err
	}
	if cfg.Locks.Enabled {
		if a.backend, err = openBackend(ctx, &cfg.Locks, log); err != nil {
			return nil, errors.Join(err, a.Close())
		}
		a.openControl(ctx)
	}
	policy, err := newPolicy(cfg) // after the backend, in whose folder the secret of salts is
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	a.renewal = newRenewal(cfg, policy, log)
	a.functions = sqlfuncs.NewService(a.backend, sqlfuncs.Options{
		MaxTTL: cfg.Locks.MaxTTL, MaxWait: cfg.Locks.MaxWait, MaxKeys: cfg.Locks.MaxKeysPerCall,
		Administrators: cfg.Auth.AdminUsers, Log: log,
	})
	version, _ := buildVersion()
	a.server, err = pgwire.NewServer(pgwire.Config{
		Config: login.Config{
			Policy:         policy,
			Log:            log,
			TLS:            a.renewal.tls.Load,
			LookUp:         a.lookUp(),
			RequireTLS:     cfg.PGWire.RequireTLS,
			MaxConnections: cfg.PGWire.MaxConnections,
			StartupTimeout: cfg.PGWire.StartupTimeout,
		},
		Functions:       a.functions,
		Version:         version,
		Port:            a.port(),
		AdminUsers:      cfg.Auth.AdminUsers,
		IdleTimeout:     cfg.PGWire.IdleTimeout,
		ShutdownTimeout: cfg.PGWire.ShutdownTimeout,
		MaxMessageBytes: cfg.PGWire.MaxMessageBytes,
		Upstream:        cfg.Behind,
		EventLoops:      cfg.EventLoops,
	})
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// newPolicy says what is asked of clients.
func newPolicy(cfg *Config) (*identity.Policy, error) {
	o := identity.PolicyOptions{
		Method:         identity.Method(cfg.Auth.Method),
		Users:          cfg.Users,
		AllowAnonymous: cfg.Auth.AllowAnonymous,
		CertMap:        cfg.CertMap,
	}
	if path := cfg.saltFile(); path != "" && o.Method == identity.SCRAM {
		var err error
		if o.SaltSecret, err = identity.LoadSaltSecret(path); err != nil {
			return nil, fmt.Errorf("the secret of salts: %w", err)
		}
	}
	return identity.NewPolicy(o)
}

// saltFile is where the secret of salts is kept; "": nowhere, since nothing is kept.
func (c *Config) saltFile() string {
	switch {
	case c.Auth.SaltFile != "" || !c.Locks.Enabled:
		return c.Auth.SaltFile
	case c.Locks.Backend == backendRedis:
		return filepath.Join(filepath.Dir(c.Locks.Redis.StateFile), "raisinproxy-salts")
	case c.Locks.InProcess.DataDir != "":
		return filepath.Join(c.Locks.InProcess.DataDir, "SALTS")
	}
	return ""
}

// openBackend opens the store of locks and inventory.
func openBackend(ctx context.Context, c *LocksConfig, log *slog.Logger) (backend.Backend, error) {
	if c.Backend == backendRedis {
		return openRedis(ctx, c, log)
	}
	opts := inprocess.Options{
		ReapInterval:  c.ReaperInterval,
		MaxPools:      c.MaxPoolsPerTenant,
		MaxLeases:     c.MaxLeasesPerUser,
		MaxWaiters:    c.MaxWaitersPerKey,
		VerifyAnswers: c.InProcess.Verify == "answer",
		MaxTTL:        c.MaxTTL,
		Log:           log,

		ContinueOnRestore: c.InProcess.OnRestore == "continue",
	}
	if c.InProcess.DataDir == "" {
		return inprocess.New(opts), nil
	}
	store, err := inprocess.Open(c.InProcess.DataDir, opts)
	if err != nil {
		return nil, err // not a nil *Store in an interface
	}
	return store, nil
}

// openControl lets commands ask for things of a durable store.
func (a *App) openControl(ctx context.Context) {
	store, ok := a.backend.(*inprocess.Store)
	if !ok || store.Immediate() {
		return
	}
	var err error
	if a.control, err = listenControl(ctx, a.cfg.Locks.InProcess.DataDir, store, a.log); err != nil {
		a.log.Warn("commands cannot reach this server: `raisinproxy backup` needs it stopped", "error", err)
	}
}

// Addr is where the server listens.
func (a *App) Addr() net.Addr { return a.listener.Addr() }

// Run serves until ctx ends, lets running statements finish for shutdown_timeout_secs,
// and closes everything.
func (a *App) Run(ctx context.Context) error {
	for _, warning := range a.cfg.Warnings {
		a.log.Warn(warning)
	}
	a.tryUpstream(ctx)
	a.log.Info("listening", "address", a.Addr().String(), "version", versionText(), "locks", a.cfg.Locks.Enabled)
	watched, stopWatching := context.WithCancel(ctx)
	defer a.renewal.watch(watched)()
	defer stopWatching()
	manager := notifier{a.log}
	served := make(chan error, 1)
	go func() { served <- a.server.Serve(ctx, a.listener) }()
	manager.ready() // clients wait in the listener's queue at worst
	var err error
	select {
	case err = <-served:
	case <-ctx.Done():
		manager.stopping()
		a.log.Info("shutting down", "running_statements_have", a.cfg.PGWire.ShutdownTimeout.String())
		err = <-served
	}
	if err = errors.Join(err, a.Close()); err == nil {
		a.log.Info("stopped")
	}
	return err
}

// tryUpstream tells the log what clients will run into.
func (a *App) tryUpstream(ctx context.Context) {
	problems, warnings := a.cfg.try(ctx)
	for _, warning := range warnings {
		a.log.Warn(warning)
	}
	for _, p := range problems {
		a.log.Error(p.text, "key", p.key)
	}
}

// Close ends what NewApp opened. It may be called more than once.
func (a *App) Close() error {
	err := a.listener.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	if a.control != nil {
		err = errors.Join(err, a.control.close())
		a.control = nil
	}
	if a.backend != nil {
		err = errors.Join(err, a.backend.Close())
	}
	if a.users != nil {
		err = errors.Join(err, a.users.Close())
	}
	return err
}

// lookUp finds users by auth_query; nil without one.
func (a *App) lookUp() func(context.Context, string) (*identity.User, error) {
	if a.cfg.Asked == nil {
		return nil
	}
	a.users = identity.NewAuthQuery(a.cfg.Asked, a.cfg.Auth.AuthQuery)
	return a.users.Lookup
}

// Reload reads again what may change while the server runs: the users and the
// certificates. What is wrong with them is logged, and the old ones stay.
func (a *App) Reload() { a.renewal.all() }

// port is the one that was taken if any would do.
func (a *App) port() int {
	address, ok := a.listener.Addr().(*net.TCPAddr)
	if !ok {
		return a.cfg.PGWire.Port
	}
	return address.Port
}

func listen(c *PGWireConfig) (net.Listener, error) {
	host := c.BindAddress
	if host == "*" {
		host = ""
	}
	return net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(c.Port)))
}

// announce says what to try in dev mode, and warns of it so that nobody overlooks it: to people
// at a terminal in a frame, to a log as one record.
func (a *App) announce(w io.Writer) {
	if !a.cfg.DevMode {
		return
	}
	host, port, _ := net.SplitHostPort(a.Addr().String())
	lines := []string{
		fmt.Sprintf(`Try: psql "host=%s port=%s user=alice dbname=shop" -c "SELECT * FROM raisin_lock_acquire('seat:14A', 60000)"`, host, port),
		"DEVELOPMENT MODE. NOT FOR PRODUCTION.",
		"Everybody who reaches " + a.Addr().String() + " is let in, under any user name, without a password.",
		"Locks and inventory are kept in memory only: everything is lost at exit.",
	}
	if !isTerminal(w) {
		a.log.Warn(strings.Join(lines, " "))
		return
	}
	bar := strings.Repeat("*", 78)
	fmt.Fprintf(w, "%s\n*\n*  %s\n*\n%s\n", bar, strings.Join(lines, "\n*  "), bar)
}
