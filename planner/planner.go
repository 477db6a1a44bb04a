package planner

import (
	"strings"
	"sync/atomic"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/sqlfuncs"
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

func (o Options) key(text string) key {
	return key{text: text, types: typesKey(o.Types), prepared: o.Prepared, standard: o.Standard}
}

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
func (p *Planner) Cached(text string, o Options) (*Script, bool) {
	if len(text) > maxLongBytes {
		return tooLong(text), true
	}
	// A template's key is the shape of its texts: one with a NUL may look like that. No client can send it.
	if plan, ok := p.cache.get(o.key(text)); ok && plan.template == nil {
		return plan.script, true
	}
	return p.fromShape(text, o)
}

// tooLong is the plan of a text that is too long to be looked at closely.
func tooLong(text string) *Script {
	if concerns(text) {
		return &Script{Err: tooComplex("%d bytes", maxTextBytes)}
	}
	return &Script{Err: upstreamError("a statement of this size")}
}

// Plan plans a text and keeps the plan. It blocks its thread, for milliseconds at
// worst. Errors are in the Script.
func (p *Planner) Plan(text string, o Options) *Script {
	o = o.Clone()
	text = strings.Clone(text)
	return p.keep(text, o, p.plan(text, o))
}

func (p *Planner) plan(text string, o Options) *Script {
	scan := scanText(text, o.Standard, isFunction)
	if scan.Empty() {
		if err := checkEncoding(text); err != nil {
			return &Script{Err: err}
		}
		return &Script{}
	}
	p.parses.Add(1)
	parsed, err := parseSQL(text, o.Standard)
	if err == nil {
		err = laterNumber(text, o.Standard)
	}
	script := &Script{Err: err, Notices: truncations(text, o.Standard)}
	if err != nil {
		return script
	}
	characters := &characters{positions: &parsed.positions}
	for i := range parsed.Statements {
		st := p.statement(text, characters, &parsed.Statements[i], o)
		if p.cfg.Upstream && st.Mentions && !answeredHere(st) {
			if rewritten := rewriteStatement(parsed, i, o); rewritten != nil {
				st = rewritten
				st.Mentions = true
			}
		}
		st.Standard = o.Standard
		st.Prepares = parsed.Statements[i].Node.GetPrepareStmt().GetName()
		st.Within = executeWithin(parsed.Statements[i].Node)
		st.Text = text[parsed.Statements[i].Start:parsed.Statements[i].End]
		st.Start = characters.before(parsed.Statements[i].Start)
		script.Statements = append(script.Statements, st)
		script.Calls = script.Calls || len(st.Calls) > 0
	}
	return script
}

func isFunction(name string) bool {
	_, ok := sqlfuncs.Lookup(name)
	return ok
}

// statement compiles one statement of a text. What only the catalogue can answer
// is looked up among the statements that clients send by themselves.
func (p *Planner) statement(text string, characters *characters, ps *parsedStatement, o Options) *Statement {
	if ps.Node == nil {
		return &Statement{Action: &Set{Modes: []Mode{{Name: "app.branch", Values: []SettingValue{{Text: ps.Branch}}}}, Tag: "SET", Use: true}}
	}
	st := compileStatement(ps.Node, characters.Char, 1+characters.before(ps.Start), o, !p.cfg.Upstream)
	if st.Err != nil && st.Err.Code == codes.FeatureNotSupported {
		if answer, ok := catalogStatement(text[ps.Start:ps.End], o); ok {
			return answer
		}
	}
	return st
}
