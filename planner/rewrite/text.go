package rewrite

import (
	"sort"
	"strings"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/planner/pgparse"
	"raisinproxy/planner/place"
	"raisinproxy/sqlfuncs/pgerr"
)

// Text is SQL that was spliced from the user's.
type Text struct {
	SQL    string
	pieces []piece
	source *pgparse.Positions
	// sites are those whose calls a probe replaced, for its errors.
	sites []*callSite
	alone bool // it is Args, in which nothing of the statement around is visible
}

// piece is where a part of a Text comes from. It ends where the next one begins.
type piece struct {
	at   int // byte offset in the Text
	user int // byte offset in the user's text
	// copied: every byte has its own place in the user's text. Else all belong to
	// the call at user.
	copied bool
}

// Position leads from a position in the text, as an error report gives it (in
// characters from 1), to the user's text. 0 stays 0.
func (t *Text) Position(position int) int {
	if position <= 0 || len(t.pieces) == 0 {
		return 0
	}
	offset, _ := t.offset(position)
	return t.source.Character(offset)
}

// offset is where in the user's text, in bytes, a position is, and whether what
// stands there was copied from it.
func (t *Text) offset(position int) (user int, copied bool) {
	at := pgparse.ByteOffset(t.SQL, position-1)
	i := sort.Search(len(t.pieces), func(i int) bool { return t.pieces[i].at > at }) - 1
	p := t.pieces[max(i, 0)]
	if !p.copied {
		return p.user, false
	}
	return min(p.user+at-p.at, len(t.source.User)), true
}

// Translate makes the user's error of one that the upstream reports about the
// text: the position, and the names that only the text has. It returns a copy.
func (t *Text) Translate(err *pgerr.Error) *pgerr.Error {
	user := *err
	user.Position = t.Position(err.Position)
	if err.Position <= 0 || len(t.pieces) == 0 {
		return &user
	}
	if t.alone && (err.Code == codes.UndefinedColumn || err.Code == codes.UndefinedTable || err.Code == codes.UndefinedParameter) {
		return notAlone(t.callBefore(err.Position), user.Position)
	}
	offset, copied := t.offset(err.Position)
	for _, s := range t.sites {
		if !copied && s.name == offset {
			user.Message = s.translate(err.Message)
		}
	}
	return &user
}

// callBefore is the name of the function whose call a position in Args belongs to.
func (t *Text) callBefore(position int) string {
	at := pgparse.ByteOffset(t.SQL, position-1)
	name := ""
	for _, p := range t.pieces {
		for _, s := range t.sites {
			if p.at <= at && !p.copied && p.user == s.name {
				name = s.function.Name
			}
		}
	}
	return name
}

// notAlone is the error of what the upstream knows, but cannot compute before the
// statement.
func notAlone(function string, position int) *pgerr.Error {
	return place.UsesAnotherItem(function).WithDetail("It is computed before the statement runs.").At(position)
}

// textWriter writes a Text.
type textWriter struct {
	user   string
	out    strings.Builder
	pieces []piece
}

// copy copies a part of the user's text.
func (w *textWriter) copy(part span) {
	if part.start < part.end {
		w.pieces = append(w.pieces, piece{w.out.Len(), part.start, true})
		w.out.WriteString(w.user[part.start:part.end])
	}
}

// put writes what is not the user's, on account of what stands at this byte of the
// user's text.
func (w *textWriter) put(user int, text ...string) {
	w.pieces = append(w.pieces, piece{w.out.Len(), user, false})
	for _, part := range text {
		w.out.WriteString(part)
	}
}

// edit replaces a part of the user's text, which may be empty.
type edit struct {
	span
	write func(*textWriter)
}

// splice copies a part of the user's text with edits made.
func (r *rewriter) splice(part span, edits []edit) Text {
	sort.SliceStable(edits, func(i, j int) bool {
		a, b := edits[i].span, edits[j].span
		return a.start < b.start || a.start == b.start && a.end < b.end
	})
	w := &textWriter{user: r.user}
	for _, e := range edits {
		if e.start < part.start || e.end > part.end {
			r.overlap = true
			continue
		}
		w.copy(span{part.start, e.start})
		e.write(w)
		part.start = e.end
	}
	w.copy(part)
	return r.finish(w)
}

func (r *rewriter) finish(w *textWriter) Text {
	return Text{SQL: w.out.String(), pieces: w.pieces, source: r.source}
}
