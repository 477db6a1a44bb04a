package catalog

import "raisinproxy/sqlfuncs/datum"

// node is a part of FROM.
type node interface {
	// each calls yield for each row, having set the items of r.
	each(x *execution, r *row, yield func() error) error
	// push takes the conditions that can be tested on the way, and returns the rest.
	push([]conjunct) (rest []*expr)
	// bits are the items under the node.
	bits() uint64
}

// nothing is a query without FROM: a single row.
type nothing struct{}

func (n *nothing) bits() uint64 { return 0 }

func (n *nothing) push(all []conjunct) []*expr {
	return exprsOf(all)
}

func (n *nothing) each(_ *execution, _ *row, yield func() error) error { return yield() }

func exprsOf(all []conjunct) (list []*expr) {
	for _, one := range all {
		list = append(list, one.expr)
	}
	return list
}

// scan yields the rows of one item.
type scan struct {
	index int
	// rows are those of the item; correlated ones are computed for each row before.
	rows       func(*execution, *row) ([][]datum.Datum, error)
	correlated bool
	needs      uint64 // items that it reads
	filters    []*expr
	// probe finds the rows whose column has the value of an expression that does not
	// read this item.
	probe  *expr
	column int
	text   bool // of the column: it is not a number
}

func (s *scan) bits() uint64 { return 1 << s.index }

func (s *scan) push(all []conjunct) []*expr {
	for _, one := range all {
		if s.probe == nil && !s.correlated {
			s.takeProbe(one)
		}
		s.filters = append(s.filters, one.expr)
	}
	return nil
}

// takeProbe uses an equality of a column and something else for an index. The condition
// is tested all the same.
func (s *scan) takeProbe(one conjunct) {
	for i, mine := range one.equal {
		other := one.equal[1-i]
		if mine.expr == nil || mine.refs != s.bits() || other.refs&s.bits() != 0 || mine.columnOf < 0 || family(mine.t) != family(other.t) || mine.t == datum.Bpchar || other.t == datum.Bpchar {
			continue
		}
		s.probe, s.column, s.text = other.expr, mine.columnOf, isText(mine.t)
	}
}

func (s *scan) each(x *execution, r *row, yield func() error) error {
	rows, err := s.candidates(x, r)
	if err != nil {
		return err
	}
	for _, one := range rows {
		if err := x.step(); err != nil {
			return err
		}
		r.items[s.index] = one
		ok, err := holds(x, r, s.filters)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if err := yield(); err != nil {
			return err
		}
	}
	r.items[s.index] = nil
	return nil
}

func (s *scan) candidates(x *execution, r *row) ([][]datum.Datum, error) {
	if s.correlated {
		return s.rows(x, r)
	}
	kept, err := x.keep(s, func() (any, error) { return s.rows(x, r) })
	if err != nil {
		return nil, err
	}
	rows, _ := kept.([][]datum.Datum)
	if s.probe == nil {
		return rows, nil
	}
	v, err := s.probe.eval(x, r)
	if err != nil || v.Null {
		return nil, err
	}
	index, err := x.keep(indexKey{s}, func() (any, error) { return s.buildIndex(rows), nil })
	if err != nil {
		return nil, err
	}
	return index.(map[any][][]datum.Datum)[s.key(v)], nil
}

type indexKey struct{ *scan }

func (s *scan) buildIndex(rows [][]datum.Datum) map[any][][]datum.Datum {
	index := make(map[any][][]datum.Datum)
	for _, one := range rows {
		if v := one[s.column]; !v.Null {
			index[s.key(v)] = append(index[s.key(v)], one)
		}
	}
	return index
}

func (s *scan) key(v datum.Datum) any {
	if s.text {
		return v.Str
	}
	return v.Int
}
