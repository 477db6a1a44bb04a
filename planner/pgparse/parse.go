package pgparse

import (
	"runtime"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/sqltext"
	"raisinproxy/planner/tree"
	"raisinproxy/sqlfuncs/pgerr"
)

// Parsed is a text that pg_query has parsed.
type Parsed struct {
	Text       *sqltext.Text
	Statements []Statement // in the order of the text, none empty
	Positions
}

// Statement is a statement of PostgreSQL's grammar, or USE BRANCH.
type Statement struct {
	Node       *pg_query.Node // nil for USE BRANCH
	Branch     string         // of USE BRANCH
	Start, End int            // bytes in the user's text, from the first token to the end of the last
}

// Parse parses a text. Goroutines may call it at once. It holds its thread until it is
// done, for milliseconds at worst.
//
// Errors: 54001 for a text beyond the limits, 22021 for one that is not UTF-8,
// else what PostgreSQL's parser reports.
func Parse(text *sqltext.Text) (*Parsed, *pgerr.Error) {
	if err := CheckLimits(text); err != nil {
		return nil, err
	}
	if err := CheckEncoding(text.SQL); err != nil {
		return nil, err
	}
	w := newWriter(text)
	w.write()
	parsed, err := callParser(w.parsed)
	if err != nil {
		report := w.report(err)
		if report.Position != 0 {
			w.refuse(report)
			report = w.refused
		}
		return nil, report
	}
	if w.params {
		tree.Descend(parsed.ProtoReflect(), w.refuseParams)
	}
	if w.refused != nil {
		return nil, w.refused
	}
	return w.result(parsed), nil
}

// parserSlots bounds how many threads are in C at once: more than there are
// processors gain nothing, and Go never gives a thread back.
var parserSlots = make(chan struct{}, runtime.GOMAXPROCS(0))

func callParser(text string) (*pg_query.ParseResult, error) {
	parserSlots <- struct{}{}
	defer func() { <-parserSlots }()
	return pg_query.Parse(text)
}

// result gives the statements their places in the user's text.
func (w *writer) result(parsed *pg_query.ParseResult) *Parsed {
	p := &Parsed{Text: w.text, Positions: w.Positions}
	uses := w.uses
	for _, raw := range parsed.Stmts {
		end := len(w.parsed)
		if raw.StmtLen > 0 {
			end = int(raw.StmtLocation + raw.StmtLen)
		}
		inside := w.parsed[raw.StmtLocation:end]
		trimmed := strings.TrimLeft(inside, blanks)
		start := end - len(trimmed)
		end = start + len(strings.TrimRight(trimmed, blanks))
		st := Statement{
			Node:  raw.Stmt,
			Start: w.Offset(int32(start)),
			End:   w.Offset(int32(end)),
		}
		if len(uses) > 0 && uses[0].start <= st.Start {
			st = uses[0].statement(raw.Stmt)
			uses = uses[1:]
		}
		p.Statements = append(p.Statements, st)
	}
	return p
}

// statement is the USE BRANCH for which pg_query saw n, a SELECT of a string or
// of nothing.
func (u useBranch) statement(n *pg_query.Node) Statement {
	st := Statement{Branch: u.branch, Start: u.start, End: u.end}
	if targets := n.GetSelectStmt().GetTargetList(); len(targets) > 0 {
		st.Branch = targets[0].GetResTarget().GetVal().GetAConst().GetSval().GetSval()
	}
	return st
}

const blanks = " \t\n\r\f"
