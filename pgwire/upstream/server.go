package upstream

import (
	"fmt"
	"maps"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"raisinproxy/pgwire/wire"
	"raisinproxy/sqlfuncs"
)

// Server is the PostgreSQL behind the proxy. It is safe for concurrent use.
type Server struct {
	// Config says where it is and who connects. A database in it wins over the
	// client's.
	Config *pgconn.Config
	// FixedDatabase: Config.Database is to be used whatever the client asks for.
	FixedDatabase bool
	// AsClient: the client's own user name is used.
	AsClient bool
	// FirstUse: a session's connection is opened when something is first asked of it, not
	// when its client logs in. Process ids are made up then.
	FirstUse bool
	// AnonymousUser is the role of sessions without a name, whose password is
	// AnonymousPassword; "": that of everybody.
	AnonymousUser, AnonymousPassword string

	reach reach

	mu sync.Mutex
	// greetings are what upstreams said at first, by what a connection was opened with,
	// for clients whose own connection is not open yet.
	greetings     map[string]Greeting
	greetingBytes int
}

// Greeting is what an upstream says to a new connection.
type Greeting struct {
	Params  map[string]string
	Notices []*pgconn.Notice
	Facts   *Facts
}

// identity tells upstream connections apart that may be greeted differently.
func (c *Login) identity() string {
	return fmt.Sprintf("%q %q %q", c.User, c.Database, c.Parameters)
}

// Greeting is what a connection that was opened with the same was greeted with.
func (u *Server) Greeting(c *Login) (g Greeting, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	g, ok = u.greetings[c.identity()]
	g.Params = maps.Clone(g.Params)
	return g, ok
}

// remember keeps what a connection was greeted with.
func (u *Server) remember(c *Login, g Greeting) {
	g.Params = maps.Clone(g.Params)
	identity := c.identity()
	size := g.size() + len(identity)
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.greetings) >= maxGreetings || u.greetingBytes+size > maxGreetingsBytes {
		u.greetings, u.greetingBytes = nil, 0
	}
	if u.greetings == nil {
		u.greetings = map[string]Greeting{}
	}
	u.greetings[identity] = g
	u.greetingBytes += size // once too often for one that is replaced: it is a bound
}

// configFor is how a connection to a database is opened, unless the configuration names another.
func (u *Server) configFor(database string) *pgconn.Config {
	cfg := Bounded(u.Config)
	if !u.FixedDatabase {
		cfg.Database = database
	}
	return cfg
}

// logInAs says by which role a connection for a client logs in.
func (u *Server) logInAs(cfg *pgconn.Config, c *Login) {
	switch {
	case c.User == sqlfuncs.Anonymous && u.AnonymousUser != "":
		cfg.User, cfg.Password = u.AnonymousUser, u.AnonymousPassword
	case u.AsClient:
		cfg.User, cfg.Password = c.User, c.Password.Reveal()
	}
}

// withConfigured is a parameter of a client beside what the configuration says: the options
// of both are passed on, and the client's, which come last, win.
func withConfigured(cfg *pgconn.Config, p wire.Parameter) string {
	if configured := cfg.RuntimeParams[p.Name]; p.Name == "options" && configured != "" {
		return configured + " " + p.Value
	}
	return p.Value
}
