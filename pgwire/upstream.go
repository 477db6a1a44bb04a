package pgwire

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/pgwire/auth"
	"raisinproxy/pgwire/settings"
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

	mu sync.Mutex
	// greetings are the settings that upstreams reported, by what a connection was
	// opened with, for clients whose own connection is not open yet.
	greetings map[string]greeting
}

// greeting is what an upstream says to a new connection.
type greeting struct {
	params  map[string]string
	notices []*pgconn.Notice
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

// maxGreetings bounds what hostile start-up packets can make us remember.
const maxGreetings = 1000

func (u *Upstream) remember(identity string, g greeting) {
	g.params = maps.Clone(g.params)
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.greetings) >= maxGreetings {
		u.greetings = nil
	}
	if u.greetings == nil {
		u.greetings = map[string]greeting{}
	}
	u.greetings[identity] = g
}

// client is who an upstream connection is for.
type client struct {
	user, database string
	password       auth.Secret
	parameters     []startupParameter
}

// connect opens a connection for a client. The error is one for the client: what the
// upstream said if it said something, else that it cannot be reached.
func (u *Upstream) connect(ctx context.Context, c client, notice func(*pgconn.Notice)) (*pgconn.HijackedConn, error) {
	cfg := u.Config.Copy()
	cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { notice(n) }
	if !u.FixedDatabase {
		cfg.Database = c.database
	}
	if u.AsClient {
		cfg.User, cfg.Password = c.user, c.password.Reveal()
	}
	for _, p := range c.parameters {
		cfg.RuntimeParams[p.name] = p.value
	}
	conn, err := pgconn.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, connectError(err)
	}
	if err := conn.SyncConn(ctx); err != nil {
		return nil, errors.Join(connectError(err), conn.Close(ctx))
	}
	hijacked, err := conn.Hijack()
	if err != nil {
		return nil, connectError(err)
	}
	hijacked.Frontend = nil // its buffers are not for idle sessions
	return hijacked, nil
}

func connectError(err error) error {
	if from, ok := errors.AsType[*pgconn.PgError](err); ok {
		return &pgerr.Error{
			Severity: pgerr.SeverityFatal,
			Code:     codes.Code(from.Code),
			Message:  from.Message,
			Detail:   from.Detail,
			Hint:     from.Hint,
			Cause:    err,
		}
	}
	e := pgerr.Fatalf(codes.SQLclientUnableToEstablishSQLconnection, "the upstream cannot be reached")
	e.Cause = err
	return e
}

// upstreamParameters are the start-up parameters of a session's upstream connection:
// the client's own, and the branch.
func upstreamParameters(parameters []startupParameter) []startupParameter {
	branch := "main"
	options := ""
	kept := slices.DeleteFunc(slices.Clone(parameters), func(p startupParameter) bool {
		switch p.name {
		case "user", "database":
			return true
		case "options":
			options = p.value
			return true
		case settings.BranchParameter:
			branch = p.value
			return true
		}
		return false
	})
	// The client's options come last, so that a branch among them wins.
	options = strings.TrimSpace("-c " + settings.BranchParameter + "=" + escapeOption(branch) + " " + options)
	return append(kept, startupParameter{"options", options})
}

// escapeOption protects what would end a value in the options of a start-up packet.
func escapeOption(value string) string {
	var b strings.Builder
	for i := range len(value) {
		if strings.IndexByte(" \t\n\r\v\f\\", value[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(value[i])
	}
	return b.String()
}

// prepareUpstream finds out how to greet the client: as the upstream greeted another
// connection of the same kind before, or else by opening it now, so that a database
// that does not exist is told at once.
func (s *session) prepareUpstream(parameters []startupParameter) error {
	s.parameters = upstreamParameters(parameters)
	u := s.server.cfg.Upstream
	s.identity = u.identity(s.caller.User, s.caller.Scope.Repository, s.parameters)
	if known, ok := u.greeting(s.identity); ok {
		s.greeted, s.welcome = known.params, known.notices
		return nil
	}
	notices, err := s.openUpstream()
	if err != nil {
		return err
	}
	s.greeted, s.welcome = maps.Clone(s.up.params), notices
	return nil
}

// reportGreeting tells the client the settings of its upstream, in a fixed order.
func (s *session) reportGreeting() {
	for _, n := range s.welcome {
		s.report(&pgerr.Error{Severity: n.Severity, Code: codes.Code(n.Code), Message: n.Message, Detail: n.Detail, Hint: n.Hint})
	}
	for _, name := range inOrder(s.greeted) {
		s.out.parameterStatus(name, s.greeted[name])
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

// openUpstream connects the session to its upstream.
func (s *session) openUpstream() (notices []*pgconn.Notice, err error) {
	u := s.server.cfg.Upstream
	hijacked, err := u.connect(s.ctx, client{s.caller.User, s.caller.Scope.Repository, s.password, s.parameters},
		func(n *pgconn.Notice) { notices = append(notices, n) })
	if err != nil {
		return nil, err
	}
	u.remember(s.identity, greeting{hijacked.ParameterStatuses, notices})
	s.up = newRelay(hijacked, s.conn)
	s.poll(s.up)
	s.up.dirty = true
	return notices, nil
}

// startRelay lets answers come, and tells the client of settings that are not as it was
// greeted.
func (s *session) startRelay() {
	s.interrupt.mu.Lock()
	s.interrupt.up = s.up
	s.interrupt.mu.Unlock()
	s.up.shownPID = uint32(s.pid)
	for _, name := range inOrder(s.up.params) {
		if value := s.up.params[name]; s.greeted[name] != value {
			s.out.parameterStatus(name, value)
		}
	}
	s.up.start(func() { s.conn.SetReadDeadline(longAgo) })
}

// consult does what stands between a frame and its answer.
func (s *session) consult(v verdict) error {
	switch v {
	case needUpstream:
		if err := s.waiting(func(context.Context) error {
			_, err := s.openUpstream()
			return err
		}); err != nil {
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
	if s.up != nil {
		told, lastWords := s.up.hasTold()
		s.out.buf = append(s.out.buf, lastWords...)
		if told || lastWords != nil {
			s.farewell()
			return
		}
	}
	e := pgerr.From(err)
	if e.Severity != pgerr.SeverityFatal {
		e = errUpstreamLost
	}
	s.log.Warn("session ended for want of its upstream", "error", err)
	s.report(e)
	s.farewell()
}

// hasTold says whether the upstream has told the client that it ends, or has told us
// instead.
func (r *relay) hasTold() (told bool, lastWords []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.told, r.lastWords
}

// flushAll writes what the client waits for, and then what the upstream is to get: in
// this order, since its answers come after ours.
func (s *session) flushAll() error {
	relaying := s.up != nil && len(s.up.out) > 0
	if s.out.due || relaying || len(s.out.buf) > maxPending {
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
	s.text = transcoderFor(params["client_encoding"])
	if s.up == nil {
		s.setBranch([]byte(branchOf(s.parameters)))
	}
}

// branchOf reads the branch that an upstream connection will be opened with.
func branchOf(parameters []startupParameter) string {
	branch := "main"
	for _, p := range parameters {
		if p.name != "options" {
			continue
		}
		parsed, err := parseOptions(p.value)
		if err != nil {
			continue
		}
		for _, o := range parsed {
			if strings.EqualFold(o.name, settings.BranchParameter) {
				branch = o.value
			}
		}
	}
	return branch
}
