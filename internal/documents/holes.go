package documents

import (
	"maps"
	"regexp"
	"strings"
)

// hole is what differs from run to run: a text left out, a moment, the id of a Redis, a
// token of 16 digits, a time in milliseconds of 13, and the time that psql measures.
var hole = regexp.MustCompile(`…|\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00)?|\b[A-Z2-7]{26}\b|\b\d{16}\b|\b\d{13}\b|\b\d+\.\d{3} ms`)

var (
	token      = regexp.MustCompile(`\b\d{16}\b`)
	spacesAtNL = regexp.MustCompile(`[ \t]+(\n|$)`)
)

// Tokens remembers which token of this run stands where a document shows another.
type Tokens map[string]string

// Input is what a document says to type, with the tokens of this run.
func (t Tokens) Input(text string) string {
	return token.ReplaceAllStringFunc(text, func(shown string) string {
		if got, ok := t[shown]; ok {
			return got
		}
		return shown
	})
}

// Match says whether got is what a document shows, except its holes and spaces at the
// ends of lines. A token that was shown before has to be the same again.
func (t Tokens) Match(shown, got string) bool {
	pattern, order := t.pattern(Tidy(shown))
	found := pattern.FindStringSubmatch(Tidy(got))
	if found == nil {
		return false
	}
	fresh := Tokens{}
	for i, name := range order {
		if before, ok := fresh[name]; ok && before != found[i+1] {
			return false
		}
		fresh[name] = found[i+1]
	}
	maps.Copy(t, fresh)
	return true
}

// pattern matches a shown text; its groups are the tokens that are new, in order.
func (t Tokens) pattern(shown string) (*regexp.Regexp, []string) {
	var b strings.Builder
	var order []string
	b.WriteString(`^`)
	last := 0
	for _, at := range hole.FindAllStringIndex(shown, -1) {
		b.WriteString(regexp.QuoteMeta(shown[last:at[0]]))
		text := shown[at[0]:at[1]]
		last = at[1]
		known, bound := t[text]
		switch {
		case text == "…":
			b.WriteString(`.*`)
		case bound:
			b.WriteString(regexp.QuoteMeta(known))
		case len(text) == 16 && token.MatchString(text):
			b.WriteString(`(\d{16})`)
			order = append(order, text)
		case strings.HasSuffix(text, " ms"):
			b.WriteString(`\d+\.\d{3} ms`)
		default:
			b.WriteString(kind(text))
		}
	}
	b.WriteString(regexp.QuoteMeta(shown[last:]) + `$`)
	return regexp.MustCompile(b.String()), order
}

// kind is a pattern of texts like a moment, an id or a time in milliseconds. The digits of
// a moment's fraction may be fewer: zeros at its end are not printed.
func kind(text string) string {
	switch {
	case len(text) == 13:
		return `\d{13}`
	case strings.Contains(text, "-"):
		return `\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00)?`
	}
	return `[A-Z2-7]{26}`
}

// Tidy leaves out spaces at the ends of lines, and the empty lines with which psql ends.
func Tidy(text string) string {
	return strings.TrimRight(spacesAtNL.ReplaceAllString(text, "$1"), "\n")
}
