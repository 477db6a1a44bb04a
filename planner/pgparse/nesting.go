package pgparse

import "raisinproxy/planner/sqltext"

// measure is the Depth and the Height of a text's statement with the greatest. Depth is
// how deep brackets and CASE are nested. Height bounds the height of the parse tree: no way
// from its root to a leaf has more tokens. A Depth beyond maxDepth is not exact, and neither
// is Height then.
func measure(text *sqltext.Text) (depth, height int) {
	var n nesting
	statements := text.Statements()
	for st, ok := statements.Next(); ok; st, ok = statements.Next() {
		d, h := n.ofStatement(text, st)
		depth, height = max(depth, d), max(height, h)
	}
	return depth, height
}

// ofStatement measures one statement.
func (n *nesting) ofStatement(text *sqltext.Text, st sqltext.Statement) (depth, height int) {
	n.begin()
	var last sqltext.Token
	for _, t := range text.Tokens()[st.First : st.First+st.Tokens] {
		n.add(t, text.Word(t), last.Kind == sqltext.Punct && text.Word(last) == ".")
		if t.Kind == sqltext.Operator && last.Kind == sqltext.Operator && last.End == t.Start {
			n.addSign()
		}
		last = t
	}
	return n.end()
}

// nesting measures the Depth and Height of a statement. It goes by brackets,
// commas and a few keywords, and errs on the side of too much: for a statement
// that parses, the parse tree is never higher than Height times a small factor,
// which the tests of the limits measure.
type nesting struct {
	measuring bool
	depth     int // of the current level
	deepest   int
	levels    [maxDepth + 1]nestingLevel
}

// levelHeight is what a level adds to the height beyond its tokens: what it may
// be nested in without a token of its own in the same element, such as CASE,
// WHEN, OR and AND in CASE WHEN a OR b AND CASE WHEN ….
const levelHeight = 3

// A nestingLevel is what one pair of brackets or CASE … END holds. It is a
// list of elements, side by side in the parse tree, which commas, AND and OR
// divide, and WHEN, THEN and ELSE in a CASE.
type nestingLevel struct {
	run     int32 // the tokens of the current element, what its brackets hold excluded
	below   int32 // the height of the highest brackets in the current element
	highest int32 // the height of the highest element before the current one
	// links counts the words that nest all to their left, be it divided by
	// commas or not: UNION, INTERSECT, EXCEPT and JOIN.
	links  int32
	ranges int32 // BETWEEN whose AND has not come yet
	isCase bool
}

func (n *nesting) begin() {
	n.measuring, n.depth, n.deepest = true, 0, 0
	n.levels[0] = nestingLevel{}
}

// add takes the next sqltext.Token. A qualified word follows a point, and so is a name
// even where it is spelled like a keyword.
func (n *nesting) add(t sqltext.Token, text string, qualified bool) {
	if !n.measuring {
		return
	}
	level := &n.levels[n.depth]
	level.run++
	switch t.Kind {
	case sqltext.Punct:
		switch text {
		case "(", "[":
			n.open(false)
		case ")", "]":
			n.closeBracket()
		case ",", ";":
			level.divide()
		}
	case sqltext.Ident:
		if !qualified {
			n.word(level, text)
		}
	}
}

// addSign lets an operator that another stands before without a space count for
// more: PostgreSQL's scanner reads +-+-+- to its end for every sign, in quadratic
// time.
func (n *nesting) addSign() {
	const weight = 16
	if level := &n.levels[n.depth]; n.measuring && level.run <= maxHeight {
		level.run += weight
	}
}

// word takes note of the keywords that matter. All but JOIN and BETWEEN are
// reserved: unless a point or AS stands before them, they are no names.
func (n *nesting) word(level *nestingLevel, text string) {
	is := func(word string) bool { return sqltext.FoldsTo(text, word) }
	switch {
	case is("case"):
		n.open(true)
	case level.isCase && is("end"):
		n.close()
	case is("or"), level.isCase && (is("when") || is("then") || is("else")):
		level.divide()
	case is("and") && level.ranges > 0:
		level.ranges-- // x BETWEEN 1 AND NOT y BETWEEN 2 AND NOT z … nests to the right
	case is("and"):
		level.divide()
	case is("between"):
		level.ranges++
	case is("join"):
		level.links++
	case is("union"), is("except"), is("intersect"):
		level.links++
		level.divide()
	}
}

func (n *nesting) open(isCase bool) {
	if n.depth == maxDepth {
		n.deepest, n.measuring = maxDepth+1, false
		return
	}
	n.depth++
	n.deepest = max(n.deepest, n.depth)
	n.levels[n.depth] = nestingLevel{isCase: isCase}
}

// closeBracket closes what the bracket closes, and a CASE within that has no
// END: it was a name.
func (n *nesting) closeBracket() {
	for n.depth > 0 {
		isCase := n.levels[n.depth].isCase
		n.close()
		if !isCase {
			return
		}
	}
}

func (n *nesting) close() {
	if n.depth == 0 {
		return
	}
	height := n.levels[n.depth].height()
	n.depth--
	outer := &n.levels[n.depth]
	outer.below = max(outer.below, height+levelHeight)
}

// end returns the measures of the whole statement.
func (n *nesting) end() (depth, height int) {
	for n.depth > 0 {
		n.close()
	}
	return n.deepest, int(n.levels[0].height())
}

// divide ends the current element.
func (l *nestingLevel) divide() {
	l.highest = max(l.highest, l.run+l.below)
	l.run, l.below, l.ranges = 0, 0, 0
}

func (l *nestingLevel) height() int32 {
	return l.links + max(l.highest, l.run+l.below)
}
