package planner

import (
	"cmp"
	"sync/atomic"

	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/local"
	"raisinproxy/planner/pgparse"
	"raisinproxy/planner/plan"
	"raisinproxy/planner/rewrite"
	"raisinproxy/planner/sqltext"
)

// Config is what a Planner needs.
type Config struct {
	CacheBytes int64 // bound of the memory of cached plans, as estimated
	// Upstream: there is a PostgreSQL for what is not answered here.
	Upstream bool
}

// Planner plans texts and keeps the plans. It is safe for concurrent use.
type Planner struct {
	cfg    Config
	cache  *cache
	parses atomic.Uint64
}

// New makes a planner.
func New(cfg Config) *Planner { return &Planner{cfg: cfg, cache: newCache(cfg.CacheBytes)} }

// Stats counts since the planner was made.
type Stats struct {
	Parses  uint64 // texts that pg_query parsed
	Evicted uint64 // plans that the cache forgot
}

// Stats reads the counters.
func (p *Planner) Stats() Stats {
	return Stats{Parses: p.parses.Load(), Evicted: p.cache.evicted.Load()}
}

// Cached returns the plan of a text that was planned before, or that differs from such a
// one only in the literals of its calls. It never parses; text is not kept.
func (p *Planner) Cached(text *sqltext.Text, o plan.Options) (*plan.Script, bool) {
	if err := pgparse.CheckLength(text.SQL); err != nil {
		return &plan.Script{Err: err}, true
	}
	// A template's key is the shape of its texts: one with a NUL may look like that. No client can send it.
	if kept, ok := p.cache.get(keyOf(o, text.SQL, text.Standard)); ok && kept.template == nil {
		return kept.script, true
	}
	return p.fromShape(text, o)
}

// Plan plans a text and keeps the plan, and with it the string that the text is of. It
// blocks its thread, for milliseconds at worst. Errors are in the Script.
func (p *Planner) Plan(text *sqltext.Text, o plan.Options) *plan.Script {
	defer text.Release()
	o = o.Clone()
	return p.keep(text, o, p.plan(text, o))
}

func (p *Planner) plan(text *sqltext.Text, o plan.Options) *plan.Script {
	if text.Empty() {
		return &plan.Script{Err: pgparse.CheckEncoding(text.SQL)}
	}
	p.parses.Add(1)
	parsed, err := pgparse.Parse(text)
	if err == nil {
		err = text.LaterNumber()
	}
	script := &plan.Script{Err: err, Notices: text.Truncations()}
	if err != nil {
		return script
	}
	characters := parsed.Characters()
	for i := range parsed.Statements {
		ps := &parsed.Statements[i]
		st := local.Compile(parsed, i, characters, o, !p.cfg.Upstream)
		if p.cfg.Upstream && (st.Mentions && !answeredHere(st) || rewrite.ReadsViews(ps.Node)) {
			if rewritten := rewrite.Rewrite(parsed, i, o); rewritten != nil {
				st = rewritten
				st.Mentions = true
			}
		}
		st.Standard = text.Standard
		st.Prepares = ps.Node.GetPrepareStmt().GetName()
		st.Within = executeWithin(ps.Node)
		st.Text = text.SQL[ps.Start:ps.End]
		st.Start = characters.Before(ps.Start)
		script.Statements = append(script.Statements, st)
		script.Calls = script.Calls || len(st.Calls) > 0
	}
	return script
}

// executeWithin is the prepared statement that an EXPLAIN or a CREATE TABLE AS executes.
func executeWithin(n *pg_query.Node) string {
	return cmp.Or(n.GetExplainStmt().GetQuery().GetExecuteStmt().GetName(),
		n.GetExplainStmt().GetQuery().GetCreateTableAsStmt().GetQuery().GetExecuteStmt().GetName(),
		n.GetCreateTableAsStmt().GetQuery().GetExecuteStmt().GetName())
}
