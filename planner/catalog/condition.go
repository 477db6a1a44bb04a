package catalog

import (
	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/tree"
)

// conjunct is one of the conditions between the ANDs of WHERE and ON, and the items of
// FROM that it reads.
type conjunct struct {
	*expr
	refs uint64
	// equal, if it is a comparison of two expressions that are equal when their values
	// are the same, are those, each with the items that it reads.
	equal [2]side
}

type side struct {
	*expr
	refs uint64
}

// conjuncts compiles a condition, one expression for each part between its ANDs.
func (c *compiler) conjuncts(n *pg_query.Node) ([]conjunct, error) {
	if n == nil {
		return nil, nil
	}
	parts := []*pg_query.Node{n}
	if b := n.GetBoolExpr(); b.GetBoolop() == pg_query.BoolExprType_AND_EXPR {
		parts = b.Args
	}
	var all []conjunct
	for _, part := range parts {
		if b := part.GetBoolExpr(); b.GetBoolop() == pg_query.BoolExprType_AND_EXPR {
			inner, err := c.conjuncts(part)
			if err != nil {
				return nil, err
			}
			all = append(all, inner...)
			continue
		}
		one, err := c.conjunct(part)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

func (c *compiler) conjunct(n *pg_query.Node) (one conjunct, err error) {
	one.refs, err = c.reading(func() (err error) {
		one.expr, err = c.condition(n)
		return err
	})
	if err != nil {
		return one, err
	}
	name, ok := tree.CatalogName(n.GetAExpr().GetName())
	if !ok || name != "=" || n.GetAExpr().Kind != pg_query.A_Expr_Kind_AEXPR_OP {
		return one, nil
	}
	// The sides once more, as the comparison has them.
	for i := range one.operands {
		one.equal[i].expr = one.operands[i]
		one.equal[i].refs, err = c.reading(func() error {
			_, err := c.expr([]*pg_query.Node{n.GetAExpr().Lexpr, n.GetAExpr().Rexpr}[i])
			return err
		})
		if err != nil {
			return one, err
		}
	}
	return one, nil
}

// reading says which items of FROM are read by what compile compiles.
func (c *compiler) reading(compile func() error) (refs uint64, err error) {
	before := c.scope.refs
	c.scope.refs = 0
	err = compile()
	refs = c.scope.refs
	c.scope.refs |= before
	return refs, err
}
