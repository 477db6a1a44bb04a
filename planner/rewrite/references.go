package rewrite

import (
	"github.com/jeroenrinzema/psql-wire/codes"
	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/tree"
	"raisinproxy/sqlfuncs/pgerr"
)

// checkReferences refuses what a subquery in the place of a call in FROM would
// answer otherwise than a function does: the whole row of one with a single column, and
// FOR UPDATE of it.
func (r *rewriter) checkReferences(n *pg_query.Node) (err *pgerr.Error) {
	check := func(query tree.Message, from []*pg_query.Node) {
		if err == nil {
			err = r.wholeRows(query, r.callsOf(from))
		}
	}
	tree.Each(n, func(query *pg_query.SelectStmt) {
		check(query, query.FromClause)
		if err == nil {
			err = r.locks(query)
		}
	})
	tree.Each(n, func(query *pg_query.UpdateStmt) { check(query, query.FromClause) })
	tree.Each(n, func(query *pg_query.DeleteStmt) { check(query, query.UsingClause) })
	tree.Each(n, func(query *pg_query.MergeStmt) { check(query, []*pg_query.Node{query.SourceRelation}) })
	return err
}

// callsOf are the calls that are FROM items of a query, by themselves or in a JOIN.
func (r *rewriter) callsOf(from []*pg_query.Node) (sites []*callSite) {
	for _, item := range from {
		if join := item.GetJoinExpr(); join != nil {
			sites = append(sites, r.callsOf([]*pg_query.Node{join.Larg, join.Rarg})...)
		} else if s := r.byCall[tree.FromFunction(item.GetRangeFunction())]; s != nil {
			sites = append(sites, s)
		}
	}
	return sites
}

// wholeRows refuses the alias of a call as a value: that of a function with a single column
// is the value of it, that of a subquery a row. (A row of several columns is the same of
// both.) A table may have a column of that name, which only the upstream knows: then
// another alias helps.
func (r *rewriter) wholeRows(query tree.Message, calls []*callSite) (err *pgerr.Error) {
	items := map[string]bool{} // whether the alias alone means the row
	for _, s := range calls {
		if len(s.function.Columns) == 1 {
			items[s.alias] = !s.hasColumn(s.alias)
		}
	}
	if len(items) == 0 {
		return nil
	}
	tree.Each(query, func(ref *pg_query.ColumnRef) {
		alias := ref.Fields[0].GetString_().GetSval()
		row, found := items[alias]
		whole := len(ref.Fields) == 1 && row || len(ref.Fields) == 2 && ref.Fields[1].GetAStar() != nil && !r.lists[ref]
		if err == nil && whole && found {
			err = pgerr.Newf(codes.FeatureNotSupported, "\"%s\" as a whole row is not supported", alias).
				WithHint("Name its columns, or write %s.* as an item of the SELECT list.", alias).At(r.source.Char(ref.Location))
		}
	})
	return err
}

// hasColumn says whether a FROM item has a column of that name.
func (s *callSite) hasColumn(name string) bool {
	for i, c := range s.columns() {
		column := s.nameOf(c)
		if i < len(s.renamed) {
			column = s.renamed[i].GetString_().GetSval()
		}
		if column == name {
			return true
		}
	}
	return false
}

// locks refuses FOR UPDATE OF a call, in the words of PostgreSQL.
func (r *rewriter) locks(query *pg_query.SelectStmt) *pgerr.Error {
	strengths := map[pg_query.LockClauseStrength]string{
		pg_query.LockClauseStrength_LCS_FORUPDATE:      "FOR UPDATE",
		pg_query.LockClauseStrength_LCS_FORNOKEYUPDATE: "FOR NO KEY UPDATE",
		pg_query.LockClauseStrength_LCS_FORSHARE:       "FOR SHARE",
		pg_query.LockClauseStrength_LCS_FORKEYSHARE:    "FOR KEY SHARE",
	}
	for _, node := range query.LockingClause {
		clause := node.GetLockingClause()
		for _, rel := range clause.LockedRels {
			for _, s := range r.callsOf(query.FromClause) {
				if table := rel.GetRangeVar(); table.GetRelname() == s.alias {
					return pgerr.Newf(codes.FeatureNotSupported, "%s cannot be applied to a function", strengths[clause.Strength]).
						At(r.source.Char(table.Location))
				}
			}
		}
	}
	return nil
}
