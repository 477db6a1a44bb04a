package planner

import (
	"slices"

	"github.com/jeroenrinzema/psql-wire/codes"
	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/sqlfuncs/pgerr"
)

// fromItem is one named item of FROM and its columns.
type fromItem struct {
	alias   string
	names   []string
	columns []expr
}

// clone copies the names, which an alias may change.
func (f fromItem) clone() fromItem {
	f.names = slices.Clone(f.names)
	return f
}

func (c *exprCompiler) item(alias string, pos int32) (*fromItem, *pgerr.Error) {
	for i := range c.from {
		if c.from[i].alias == alias {
			return &c.from[i], nil
		}
	}
	return nil, pgerr.Newf(codes.UndefinedTable, "missing FROM-clause entry for table \"%s\"", alias).At(c.at(pos))
}

// column resolves a column reference.
func (c *exprCompiler) column(ref *pg_query.ColumnRef) (expr, *pgerr.Error) {
	if len(ref.Fields) > 2 {
		return nil, c.needsUpstream(ref.Location, "a column reference of this form")
	}
	if ref.Fields[len(ref.Fields)-1].GetAStar() != nil {
		return nil, c.needsUpstream(ref.Location, "a whole row")
	}
	name := nameOf(ref.Fields)
	items := c.from
	if len(ref.Fields) > 1 {
		item, err := c.item(nameOf(ref.Fields[:len(ref.Fields)-1]), ref.Location)
		if err != nil {
			return nil, err
		}
		items = []fromItem{*item}
	}
	var found expr
	for _, item := range items {
		for i := range item.names {
			if item.names[i] != name {
				continue
			}
			if found != nil {
				return nil, pgerr.Newf(codes.AmbiguousColumn, "column reference \"%s\" is ambiguous", name).At(c.at(ref.Location))
			}
			found = item.columns[i]
		}
	}
	if found == nil {
		return nil, c.noColumn(ref, name)
	}
	return found, nil
}

func (c *exprCompiler) noColumn(ref *pg_query.ColumnRef, name string) *pgerr.Error {
	if len(ref.Fields) > 1 {
		return pgerr.Newf(codes.UndefinedColumn, "column %s.%s does not exist", nameOf(ref.Fields[:1]), name).At(c.at(ref.Location))
	}
	for _, item := range c.from {
		if item.alias == name {
			return c.needsUpstream(ref.Location, "\"%s\" as a whole row", name)
		}
	}
	err := pgerr.Newf(codes.UndefinedColumn, "column \"%s\" does not exist", name).At(c.at(ref.Location))
	switch near := c.nearColumns(name); len(near) {
	case 1:
		return err.WithHint("Perhaps you meant to reference the column \"%s\".", near[0])
	case 2:
		return err.WithHint("Perhaps you meant to reference the column \"%s\" or the column \"%s\".", near[0], near[1])
	}
	return err
}

// nearColumns are the columns whose names are the fewest typing errors away from
// name, by PostgreSQL's rule of what is near (searchRangeTableForCol).
func (c *exprCompiler) nearColumns(name string) (near []string) {
	const maxDistance = 3
	best := min(maxDistance, len(name)/2)
	for _, item := range c.from {
		for _, column := range item.names {
			d := distance(name, column)
			if d < best {
				best, near = d, nil
			}
			if d <= best {
				near = append(near, item.alias+"."+column)
			}
		}
	}
	return near
}

// distance is the Levenshtein distance in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitute := diagonal
			if a[i] != b[j] {
				substitute++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitute, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

// derive makes a column of a subquery of an expression.
func (c *exprCompiler) derive(e expr) expr {
	c.slots++
	return newDerived(e, c.slots-1)
}
