package expr

import (
	"slices"

	"github.com/jeroenrinzema/psql-wire/codes"
	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/tree"
	"raisinproxy/sqlfuncs/pgerr"
)

// Item is one named item of FROM and its columns.
type Item struct {
	Alias   string
	Names   []string
	Columns []Expr
}

// Rename gives the first columns other names. Copies of the item keep theirs.
func (f *Item) Rename(names []*pg_query.Node) {
	f.Names = slices.Clone(f.Names)
	for i, name := range names {
		f.Names[i] = name.GetString_().GetSval()
	}
}

// Item finds an item of FROM by its alias.
func (c *Compiler) Item(alias string, pos int32) (*Item, *pgerr.Error) {
	for i := range c.From {
		if c.From[i].Alias == alias {
			return &c.From[i], nil
		}
	}
	return nil, pgerr.Newf(codes.UndefinedTable, "missing FROM-clause entry for table \"%s\"", alias).At(c.At(pos))
}

// column resolves a column reference.
func (c *Compiler) column(ref *pg_query.ColumnRef) (Expr, *pgerr.Error) {
	if len(ref.Fields) > 2 {
		return nil, c.NeedsUpstream(ref.Location, "a column reference of this form")
	}
	if ref.Fields[len(ref.Fields)-1].GetAStar() != nil {
		return nil, c.NeedsUpstream(ref.Location, "a whole row")
	}
	name := tree.Name(ref.Fields)
	items := c.From
	if len(ref.Fields) > 1 {
		item, err := c.Item(tree.Name(ref.Fields[:len(ref.Fields)-1]), ref.Location)
		if err != nil {
			return nil, err
		}
		items = []Item{*item}
	}
	var found Expr
	for _, item := range items {
		for i := range item.Names {
			if item.Names[i] != name {
				continue
			}
			if found != nil {
				return nil, pgerr.Newf(codes.AmbiguousColumn, "column reference \"%s\" is ambiguous", name).At(c.At(ref.Location))
			}
			found = item.Columns[i]
		}
	}
	if found == nil {
		return nil, c.noColumn(ref, name)
	}
	return found, nil
}

func (c *Compiler) noColumn(ref *pg_query.ColumnRef, name string) *pgerr.Error {
	if len(ref.Fields) > 1 {
		return pgerr.Newf(codes.UndefinedColumn, "column %s.%s does not exist", tree.Name(ref.Fields[:1]), name).At(c.At(ref.Location))
	}
	for _, item := range c.From {
		if item.Alias == name {
			return c.NeedsUpstream(ref.Location, "\"%s\" as a whole row", name)
		}
	}
	err := pgerr.Newf(codes.UndefinedColumn, "column \"%s\" does not exist", name).At(c.At(ref.Location))
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
func (c *Compiler) nearColumns(name string) (near []string) {
	const maxDistance = 3
	best := min(maxDistance, len(name)/2)
	for _, item := range c.From {
		for _, column := range item.Names {
			d := distance(name, column)
			if d < best {
				best, near = d, nil
			}
			if d <= best {
				near = append(near, item.Alias+"."+column)
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

// Derive makes a column of a subquery of an expression.
func (c *Compiler) Derive(e Expr) Expr {
	c.slots++
	return &derived{inner: e, slot: c.slots - 1, inside: traitsOf(e)}
}
