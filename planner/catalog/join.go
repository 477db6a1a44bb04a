package catalog

import "slices"

// join is a cross or inner join, or a left one.
type join struct {
	left, right node
	outer       bool
	on          []conjunct
	filters     []*expr
}

func (j *join) bits() uint64 { return j.left.bits() | j.right.bits() }

func (j *join) push(all []conjunct) []*expr {
	if !j.outer {
		all = slices.Concat(j.on, all)
	}
	var left, right []conjunct
	for _, one := range all {
		switch {
		case one.refs&j.right.bits() == 0:
			left = append(left, one)
		case j.outer:
			j.filters = append(j.filters, one.expr)
		default:
			right = append(right, one)
		}
	}
	if j.outer {
		right = j.on
	}
	j.filters = append(j.filters, j.left.push(left)...)
	j.right.push(right)
	return nil
}

func (j *join) each(x *execution, r *row, yield func() error) error {
	pass := func() error {
		if ok, err := holds(x, r, j.filters); !ok || err != nil {
			return err
		}
		return yield()
	}
	return j.left.each(x, r, func() error {
		found := false
		err := j.right.each(x, r, func() error {
			found = true
			return pass()
		})
		if err != nil || found || !j.outer {
			return err
		}
		for i := range r.items {
			if j.right.bits()>>i&1 == 1 {
				r.items[i] = nil
			}
		}
		return pass()
	})
}

// inOrder joins the items of inner joins so that, where there is a choice, each is found by
// what is known before: constants first, then columns of those that are there already.
func inOrder(n node, where []conjunct) (node, []conjunct) {
	leaves, where := flatten(n, where)
	var all node
	for placed := uint64(0); len(leaves) > 0; {
		i := next(leaves, where, placed)
		if placed |= leaves[i].bits(); all == nil {
			all = leaves[i]
		} else {
			all = &join{left: all, right: leaves[i]}
		}
		leaves = slices.Delete(leaves, i, i+1)
	}
	return all, where
}

// flatten takes inner joins apart.
func flatten(n node, where []conjunct) ([]node, []conjunct) {
	j, ok := n.(*join)
	if !ok || j.outer {
		return []node{n}, where
	}
	left, where := flatten(j.left, append(slices.Clone(where), j.on...))
	right, where := flatten(j.right, where)
	return append(left, right...), where
}

// next is the leaf that the most is known of.
func next(leaves []node, where []conjunct, placed uint64) int {
	best, most := -1, -1
	for i, leaf := range leaves {
		s, isScan := leaf.(*scan)
		if isScan && s.needs&^placed != 0 {
			continue
		}
		if known := knownOf(leaf, where, placed); known > most {
			best, most = i, known
		}
	}
	return max(best, 0)
}

// knownOf counts for an item what finds its rows: a column that equals one of another
// item, or a constant.
func knownOf(leaf node, where []conjunct, placed uint64) (known int) {
	const byColumn, byConstant = 2, 1
	for _, one := range where {
		for i, mine := range one.equal {
			other := one.equal[1-i]
			if mine.expr == nil || mine.refs == 0 || mine.refs&^leaf.bits() != 0 || mine.columnOf < 0 || other.refs&^placed != 0 {
				continue
			}
			if other.refs == 0 {
				known = max(known, byConstant)
			} else {
				known = byColumn
			}
		}
	}
	return known
}
