package pgwire

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/pgwire/settings"
	"raisinproxy/pgwire/wire"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/pgerr"
)

// Upstream is the PostgreSQL behind the proxy. It is safe for concurrent use.
type Upstream struct {
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
	greetings     map[string]greeting
	greetingBytes int
}

// greeting is what an upstream says to a new connection.
type greeting struct {
	params  map[string]string
	notices []*pgconn.Notice
	facts   facts
}

// identity tells upstream connections apart that may be greeted differently.
func (u *Upstream) identity(user, database string, parameters []startupParameter) string {
	var b strings.Builder
	for _, text := range []string{user, database} {
		b.WriteString(text)
		b.WriteByte(0)
	}
	for _, p := range parameters {
		b.WriteString(p.name)
		b.WriteByte(0)
		b.WriteString(p.value)
		b.WriteByte(0)
	}
	return b.String()
}

func (u *Upstream) greeting(identity string) (g greeting, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	g, ok = u.greetings[identity]
	g.params = maps.Clone(g.params)
	return g, ok
}

func (u *Upstream) remember(identity string, g greeting) {
	g.params = maps.Clone(g.params)
	size := g.size() + len(identity)
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.greetings) >= maxGreetings || u.greetingBytes+size > maxGreetingsBytes {
		u.greetings, u.greetingBytes = nil, 0
	}
	if u.greetings == nil {
		u.greetings = map[string]greeting{}
	}
	u.greetings[identity] = g
	u.greetingBytes += size // once too often for one that is replaced: it is a bound
}

// logInAs says by which role a connection for a client logs in.
func (u *Upstream) logInAs(cfg *pgconn.Config, c *client) {
	switch {
	case c.user == sqlfuncs.Anonymous && u.AnonymousUser != "":
		cfg.User, cfg.Password = u.AnonymousUser, u.AnonymousPassword
	case u.AsClient:
		cfg.User, cfg.Password = c.user, c.password.Reveal()
	}
}

// withConfigured is a parameter of a client beside what the configuration says: the options
// of both are passed on, and the client's, which come last, win.
func withConfigured(cfg *pgconn.Config, p startupParameter) string {
	if configured := cfg.RuntimeParams[p.name]; p.name == "options" && configured != "" {
		return configured + " " + p.value
	}
	return p.value
}

// upstreamParameters are the start-up parameters of a session's upstream connection: the
// client's own, and the branch. Which branch that is, is the upstream's to say: the
// client's options come last there, and its parameters after those.
func upstreamParameters(parameters []startupParameter) []startupParameter {
	options := ""
	kept := slices.DeleteFunc(slices.Clone(parameters), func(p startupParameter) bool {
		if p.name == "options" {
			options = p.value
		}
		return p.name == "user" || p.name == "database" || p.name == "options"
	})
	return append(kept, startupParameter{"options", strings.TrimRight("-c "+settings.BranchParameter+"="+defaultBranch+" "+options, " ")})
}

// defaultBranch is where a session works that says nothing else.
const defaultBranch = "main"

// prepareUpstream finds out how to greet the client: as its own upstream connection does,
// or, if that is to be opened at its first use, as another one of the same kind was greeted
// before. A connection for replication is opened at once.
func (s *session) prepareUpstream(parameters []startupParameter) error {
	s.parameters = upstreamParameters(parameters)
	s.replicates = replicates(parameters)
	u := s.server.cfg.Upstream
	s.identity = u.identity(s.caller.User, s.caller.Scope.Repository, s.parameters)
	if u.FirstUse && !s.replicates {
		if known, ok := u.greeting(s.identity); ok {
			s.greeted, s.welcome = known.params, known.notices
			return s.beginWith(known.facts)
		}
	}
	if err := s.waiting(s.openUpstream); err != nil {
		return err
	}
	s.greeted = maps.Clone(s.up.params)
	return nil
}

// reportGreeting tells the client the settings of its upstream, in a fixed order.
func (s *session) reportGreeting() {
	for _, n := range s.welcome {
		s.report(&pgerr.Error{Severity: n.Severity, Code: codes.Code(n.Code), Message: n.Message, Detail: n.Detail, Hint: n.Hint})
	}
	for _, name := range inOrder(s.greeted) {
		s.out.ParameterStatus(name, s.greeted[name])
	}
	if s.up != nil {
		s.startRelay()
	}
}

// inOrder lists settings in the order in which PostgreSQL reports them.
func inOrder(params map[string]string) []string {
	return slices.SortedFunc(maps.Keys(params), func(a, b string) int {
		return strings.Compare(strings.ToLower(a), strings.ToLower(b))
	})
}

// startRelay lets answers come, and tells the client of settings that are not as it was
// greeted.
func (s *session) startRelay() {
	s.interrupt.mu.Lock()
	s.interrupt.up = s.up
	s.interrupt.mu.Unlock()
	if s.server.cfg.Upstream.FirstUse {
		s.up.ids = s.server.ids
		s.server.ids.show(s.up.key(), uint32(s.pid))
	}
	for _, name := range inOrder(s.up.params) {
		if value := s.up.params[name]; s.greeted[name] != value {
			s.out.ParameterStatus(name, value)
		}
	}
	s.up.start(func() { s.conn.SetReadDeadline(longAgo) })
}

// consult does what stands between a frame and its answer.
func (s *session) consult(v verdict) error {
	switch v {
	case needUpstream:
		err := s.waiting(s.openUpstream)
		if errors.Is(err, errCanceled) {
			s.failHead(err)
			return nil
		}
		if err != nil {
			return err
		}
		s.startRelay()
		return s.releaseBegin()
	case needTurn:
		return s.takeTurn()
	case needFacts:
		return s.readFacts()
	case needClose:
		return s.closeStale()
	}
	s.mustAbort = false
	return s.abortUpstream()
}

// giveUp ends the session because its upstream is gone or cannot be had. A client that
// the upstream has told so itself is not told again.
func (s *session) giveUp(err error) {
	told, lastWords := false, []byte(nil)
	if s.up != nil {
		told, lastWords = s.up.hasTold()
	}
	if took, unknown := s.mayHaveCommitted(); unknown {
		if !told {
			s.report(s.outcomeUnknown(err, took))
		}
		s.farewell()
		return
	}
	stays := s.undoUnit() // for the upstream has, too
	if told || lastWords != nil {
		s.out.Buf = append(s.out.Buf, lastWords...)
		s.farewell()
		return
	}
	if errors.Is(err, errNoSession) {
		s.log.Debug("client is gone", "while", "its upstream was opened")
		return
	}
	e := pgerr.From(err)
	if e.Severity != pgerr.SeverityFatal {
		e = errUpstreamLost
	}
	s.log.Warn("session ended for want of its upstream", "error", err)
	lost := *e
	lost.Detail = withDetail(lost.Detail, stays)
	s.report(&lost)
	s.farewell()
}

// hasTold says whether the upstream has told the client that it ends, or has told us
// instead.
func (r *relay) hasTold() (told bool, lastWords []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.told, r.fatalFrame
}

// flushAll writes what the client waits for, and then what the upstream is to get: in
// this order, since its answers come after ours.
func (s *session) flushAll() error {
	relaying := s.up != nil && len(s.up.out) > 0
	if s.out.Due || relaying || len(s.out.Buf) > s.maxWaiting() {
		if err := s.flush(); err != nil {
			return err
		}
	}
	if !relaying {
		return nil
	}
	return s.up.flush()
}

// lastStatement lets the upstream finish what it is doing before the session ends with
// the server.
func (s *session) lastStatement() {
	if s.up != nil && s.up.owes() && !s.up.inSeries() {
		_ = s.up.settle()
	}
}

// refreshFromUpstream is refresh by what the upstream reports.
func (s *session) refreshFromUpstream() {
	if s.ahead {
		if s.up.inSeries() {
			return
		}
		s.ahead, s.zone = false, nil
	}
	params, version := s.greeted, uint64(0)
	if s.up != nil {
		s.up.mu.Lock()
		defer s.up.mu.Unlock()
		params, version = s.up.params, s.up.version+1
	}
	if s.zone != nil && s.seen == version {
		return
	}
	s.seen, s.zone = version, time.UTC
	s.standard = params["standard_conforming_strings"] != "off"
	s.text = wire.TranscoderFor(params["client_encoding"])
}
