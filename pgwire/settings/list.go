package settings

import (
	"strings"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/sqlfuncs/pgerr"
)

// An Argument is one item after SET x TO.
type Argument struct {
	Text   string // of a literal or an identifier, or a number as it was written, with its sign
	Number bool
}

// Flatten makes the value that Set takes from the items of SET x TO a, b: a list
// is joined, with the items quoted as identifiers where the parameter is a list of them.
func (s *Set) Flatten(name string, arguments []Argument) (string, error) {
	var f flags
	if p := s.find(name); p != nil {
		f = p.flags
	}
	if len(arguments) != 1 && f&isList == 0 {
		return "", pgerr.Newf(codes.InvalidParameterValue, "SET %s takes only one argument", name)
	}
	items := make([]string, len(arguments))
	for i, a := range arguments {
		items[i] = a.Text
		if !a.Number && f&quotedItems != 0 {
			items[i] = quoteIdentifier(a.Text)
		}
	}
	return strings.Join(items, ", "), nil
}

// listSpace is what SQL, rather than C, takes for space.
const listSpace = " \t\n\r\f"

// splitIdentifiers reads a list of identifiers, as PostgreSQL's SplitIdentifierString:
// quoted ones as they are, others in lower case; the empty text is an empty list.
func splitIdentifiers(text string, separator byte) (items []string, ok bool) {
	rest := strings.TrimLeft(text, listSpace)
	for first := true; !first || rest != ""; first = false {
		var item string
		if item, rest, ok = cutIdentifier(rest, separator); !ok {
			return nil, false
		}
		items = append(items, item)
		rest = strings.TrimLeft(rest, listSpace)
		if rest == "" {
			return items, true
		}
		if rest[0] != separator {
			return nil, false
		}
		rest = strings.TrimLeft(rest[1:], listSpace)
	}
	return items, true
}

func cutIdentifier(text string, separator byte) (item, rest string, ok bool) {
	if strings.HasPrefix(text, `"`) {
		return cutQuoted(text[1:])
	}
	n := strings.IndexAny(text, listSpace+string(separator))
	if n < 0 {
		n = len(text)
	}
	return fold(text[:n]), text[n:], n > 0
}

// cutQuoted reads to the closing quote; a doubled one stands for itself.
func cutQuoted(text string) (item, rest string, ok bool) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, `"`)
		if !found {
			return "", "", false
		}
		b.WriteString(before)
		if !strings.HasPrefix(after, `"`) {
			return b.String(), after, true
		}
		b.WriteByte('"')
		text = after[1:]
	}
}

// quoteIdentifier quotes where SQL needs it, as PostgreSQL's quote_identifier.
func quoteIdentifier(name string) string {
	safe := name != "" && (name[0] < '0' || name[0] > '9') && !keywords[name]
	for i := range len(name) {
		c := name[i]
		safe = safe && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_')
	}
	if safe {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// keywords cannot stand unquoted everywhere: SELECT word FROM pg_get_keywords() WHERE catcode <> 'U' on PostgreSQL 15.
var keywords = wordSet(`all analyse analyze and any array as asc asymmetric authorization between bigint binary bit
	boolean both case cast char character check coalesce collate collation column concurrently constraint create cross
	current_catalog current_date current_role current_schema current_time current_timestamp current_user dec decimal
	default deferrable desc distinct do else end except exists extract false fetch float for foreign freeze from full
	grant greatest group grouping having ilike in initially inner inout int integer intersect interval into is isnull
	join lateral leading least left like limit localtime localtimestamp national natural nchar none normalize not
	notnull null nullif numeric offset on only or order out outer overlaps overlay placing position precision primary
	real references returning right row select session_user setof similar smallint some substring symmetric table
	tablesample then time timestamp to trailing treat trim true union unique user using values varchar variadic verbose
	when where window with xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot
	xmlserialize xmltable`)

func wordSet(words string) map[string]bool {
	set := make(map[string]bool)
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}
