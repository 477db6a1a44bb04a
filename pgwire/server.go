package pgwire

import (
	"cmp"
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/pgwire/drive"
	"raisinproxy/pgwire/frontend"
	"raisinproxy/pgwire/login"
	"raisinproxy/pgwire/proxied"
	"raisinproxy/pgwire/settings"
	"raisinproxy/pgwire/upstream"
	"raisinproxy/planner"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/pgerr"
)

// Config is what a Server needs. The zero value of a field means what its
// comment says.
type Config struct {
	login.Config // who is let in

	Functions *sqlfuncs.Service // required
	// Version of the program, shown in server_version and version().
	Version string

	Port            int           // that clients see as a setting; 0: PostgreSQL's
	AdminUsers      []string      // who may use the last reservedConnections
	IdleTimeout     time.Duration // between messages; 0: no limit
	ShutdownTimeout time.Duration // how long running statements may go on
	MaxMessageBytes int           // 0, or more than that: PostgreSQL's limit
	PlanCacheBytes  int64         // 0: 16 MiB

	// EventLoops is how many threads serve sessions that need no goroutine, on systems that
	// have event loops; 0: one.
	EventLoops int

	// Upstream is the PostgreSQL behind the proxy; nil: embedded mode.
	Upstream *upstream.Server

	// Now is the wall clock of now() and its kin; nil: time.Now.
	Now func() time.Time
}

// reservedConnections are kept for AdminUsers, if there are any.
const reservedConnections = 3

// maxMessageBytes is PostgreSQL's PQ_LARGE_MESSAGE_LIMIT: MaxAllocSize - 1.
const maxMessageBytes = 1<<30 - 2

// Server accepts connections. Each is served by a goroutine of its own, or parked with an
// event loop that answers what needs no goroutine.
type Server struct {
	cfg Config
	env frontend.Env // of sessions
	// open counts the sessions whose client has logged in.
	open atomic.Int64
	door *login.Door // has the others

	mu       sync.Mutex
	sessions map[frontend.CancelKey]*drive.Client
	all      map[*drive.Client]bool // those that are still starting up included
	closing  bool                   // no session may begin any more
	madeUp   map[int32]bool         // process ids that sessions have
	lastPID  int32                  // that was made up

	behind proxied.Behind
}

// NewServer makes a server. An error is one of the build, not of the caller.
func NewServer(cfg Config) (*Server, error) {
	if cfg.MaxMessageBytes == 0 || cfg.MaxMessageBytes > maxMessageBytes {
		cfg.MaxMessageBytes = maxMessageBytes
	}
	cfg.PlanCacheBytes = cmp.Or(cfg.PlanCacheBytes, 16<<20)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	defaults, err := settings.NewDefaults(settings.Options{Version: cfg.Version, Overrides: cfg.shown()})
	if err != nil {
		return nil, err
	}
	if cfg.Upstream != nil {
		cfg.Upstream.LogTo(cfg.Log)
	}
	server := &Server{
		cfg:      cfg,
		sessions: map[frontend.CancelKey]*drive.Client{},
		madeUp:   map[int32]bool{},
		behind:   proxied.Behind{Server: cfg.Upstream, IDs: upstream.NewProcessIDs(), StartupTimeout: cfg.StartupTimeout},
		all:      map[*drive.Client]bool{},
		lastPID:  firstPID,
	}
	server.env = frontend.Env{
		Functions:       cfg.Functions,
		Planner:         planner.New(planner.Config{CacheBytes: cfg.PlanCacheBytes, Upstream: cfg.Upstream != nil}),
		Defaults:        defaults,
		Now:             cfg.Now,
		IdleTimeout:     cfg.IdleTimeout,
		MaxMessageBytes: cfg.MaxMessageBytes,
		Registry:        server,
	}
	server.door = login.NewDoor(cfg.Config, server.cancel)
	return server, nil
}

// shown are the settings by which a client sees how the server was configured.
func (cfg *Config) shown() map[string]string {
	const unlimited = 262143 // what PostgreSQL takes at most
	shown := map[string]string{"max_connections": strconv.Itoa(cmp.Or(cfg.MaxConnections, unlimited)), "ssl": "off", "superuser_reserved_connections": "0"}
	if cfg.Port > 0 {
		shown["port"] = strconv.Itoa(cfg.Port)
	}
	if cfg.TLS != nil && cfg.TLS() != nil {
		shown["ssl"] = "on"
	}
	if cfg.MaxConnections > 0 && len(cfg.AdminUsers) > 0 {
		shown["superuser_reserved_connections"] = strconv.Itoa(reservedConnections)
	}
	return shown
}

// PlannerStats says how often texts were parsed and found in the cache.
func (s *Server) PlannerStats() planner.Stats { return s.env.Planner.Stats() }

// Serve accepts connections on l until ctx ends, then lets running statements
// finish for ShutdownTimeout, tells every client 57P01, and returns when the last
// session is over. It closes l.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	// Sessions outlive ctx by the time of grace; force ends that.
	sessionCtx, force := context.WithCancelCause(context.WithoutCancel(ctx))
	defer force(nil)
	stopAccepting := context.AfterFunc(ctx, func() { l.Close() })
	defer stopAccepting()

	loops, err := drive.StartLoops(max(1, s.cfg.EventLoops))
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer loops.Close()
	var group sync.WaitGroup
	err = s.accept(ctx, l, func(conn net.Conn) {
		group.Add(1)
		go s.serveConn(sessionCtx, conn, loops.Next(), group.Done)
	})
	l.Close()
	s.drain(&group, force)
	return err
}

// accept hands out connections until the listener is closed.
func (s *Server) accept(ctx context.Context, l net.Listener, serve func(net.Conn)) error {
	const pause = 10 * time.Millisecond
	for {
		conn, err := l.Accept()
		switch {
		case err == nil:
			serve(conn)
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		default:
			// Out of file descriptors, most likely: they come back.
			s.cfg.Log.Warn("accepting a connection failed", "error", err)
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
		}
	}
}

// serveConn begins to serve a connection. The session may outlive the call, with a loop; ended
// is called at its end.
func (s *Server) serveConn(ctx context.Context, conn net.Conn, loop *drive.Loop, ended func()) {
	ctx, cancel := context.WithCancel(ctx)
	c := s.newSession(ctx, conn, loop)
	s.enter(c.Client)
	unhook := context.AfterFunc(ctx, c.Client.Hurry)
	c.Serve(s.door, func() {
		unhook()
		cancel()
		ended()
	})
}

func (s *Server) newSession(ctx context.Context, conn net.Conn, loop *drive.Loop) *frontend.Session {
	log := s.cfg.Log.With("remote", conn.RemoteAddr().String())
	choose := frontend.NewEmbedded
	if s.cfg.Upstream != nil {
		choose = func(c *frontend.Session) frontend.Handler { return proxied.New(c, &s.behind) }
	}
	return frontend.NewSession(ctx, &s.env, conn, loop, log, choose)
}

// drain ends all sessions and waits for them: at once those that wait for their
// client, after the time of grace the others.
func (s *Server) drain(group *sync.WaitGroup, force context.CancelCauseFunc) {
	grace := time.AfterFunc(s.cfg.ShutdownTimeout, func() {
		force(login.ErrShutdown)
		s.each(func(c *drive.Client) { c.HangUp(login.ErrShutdown) })
	})
	defer grace.Stop()
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.each((*drive.Client).Stop)
	group.Wait()
}

func (s *Server) each(do func(*drive.Client)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for client := range s.all {
		do(client)
	}
}

// enter notes a client, or stops it at once if the server is closing.
func (s *Server) enter(client *drive.Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[client] = true
	if s.closing {
		client.Stop()
	}
}

// cancel ends what the session with this key is waiting for. A wrong key is
// ignored, as PostgreSQL ignores it.
func (s *Server) cancel(pid int32, secret uint32) {
	s.mu.Lock()
	client := s.sessions[frontend.CancelKey{PID: pid, Secret: secret}]
	s.mu.Unlock()
	if client == nil {
		return
	}
	if other := client.Cancel(frontend.ErrCanceled); other != nil {
		other.RequestCancel()
	}
}

// Admit counts a session whose client has logged in, or refuses it. A session that was admitted
// must leave.
func (s *Server) Admit(user string) *pgerr.Error {
	open, most := s.open.Add(1), int64(s.cfg.MaxConnections)
	refusal := ""
	switch {
	case most == 0:
	case open > most:
		refusal = "sorry, too many clients already"
	case open > most-reservedConnections && !s.mayUseReserved(user):
		refusal = "remaining connection slots are reserved for admin_users"
	}
	if refusal == "" {
		return nil
	}
	s.open.Add(-1)
	return pgerr.Fatalf(codes.TooManyConnections, "%s", refusal)
}

// Leave ends what Admit began.
func (s *Server) Leave() { s.open.Add(-1) }

// mayUseReserved: the last connections are for the administrators, if there are any.
func (s *Server) mayUseReserved(user string) bool {
	return len(s.cfg.AdminUsers) == 0 || user != sqlfuncs.Anonymous && slices.Contains(s.cfg.AdminUsers, user)
}
