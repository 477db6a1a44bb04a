package catalog

import (
	"strings"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// regtypeIn is the input function of regtype.
func regtypeIn(s string) (uint32, error) {
	if s == "-" {
		return 0, nil
	}
	if d, err := datum.Parse(datum.OID, s); err == nil {
		return uint32(d.Int), nil
	}
	name, err := parseTypeName(s)
	if err != nil {
		return 0, err
	}
	if name.schema != "" && schemaOID(name.schema) == 0 {
		return 0, pgerr.Newf(codes.InvalidSchemaName, "schema \"%s\" does not exist", name.schema)
	}
	if t := name.find(); t != nil {
		return t.oid, nil
	}
	return 0, pgerr.Newf(codes.UndefinedObject, "type \"%s\" does not exist", name)
}

// typeName is a type as SQL names it.
type typeName struct {
	schema, name string
	array        bool
}

func (n typeName) String() string {
	s := n.name
	if n.schema != "" {
		s = n.schema + "." + s
	}
	if n.array {
		s += "[]"
	}
	return s
}

// find is nil if there is no such type.
func (n typeName) find() *pgType {
	t := typeByName(n.schema, n.name)
	if t != nil && n.array {
		return typeByOID(t.array)
	}
	return t
}

// parseTypeName reads a type name as a cast would, such as `int8`, `"char"`,
// `pg_catalog.jsonb`, `timestamp(3) with time zone` or `text[]`.
func parseTypeName(s string) (typeName, error) {
	words, array, err := splitTypeName(s)
	if err != nil {
		return typeName{}, err
	}
	rest := func(i int) string { // from word i on
		if i < len(words) {
			return words[i].rest
		}
		return ""
	}
	name := typeName{array: array}
	switch {
	case len(words) == 1 && words[0].quoted:
		name.name = words[0].text
	case len(words) == 2 && words[1].dotted:
		name.schema, name.name = words[0].text, words[1].text
	default:
		var texts []string
		for i, w := range words {
			if w.quoted || w.dotted {
				return typeName{}, badTypeName(rest(i))
			}
			texts = append(texts, w.text)
		}
		name.name = strings.Join(texts, " ")
		if standard, ok := standardTypeNames[name.name]; ok {
			name.name = standard
		} else if len(texts) != 1 {
			return typeName{}, badTypeName(rest(1))
		}
	}
	return name, nil
}

// standardTypeNames are the names that SQL's grammar turns into others.
var standardTypeNames = map[string]string{
	"bigint":                      "int8",
	"bit varying":                 "varbit",
	"boolean":                     "bool",
	"char":                        "bpchar",
	"char varying":                "varchar",
	"character":                   "bpchar",
	"character varying":           "varchar",
	"dec":                         "numeric",
	"decimal":                     "numeric",
	"double precision":            "float8",
	"float":                       "float8",
	"int":                         "int4",
	"integer":                     "int4",
	"national char":               "bpchar",
	"national char varying":       "varchar",
	"national character":          "bpchar",
	"national character varying":  "varchar",
	"nchar":                       "bpchar",
	"nchar varying":               "varchar",
	"real":                        "float4",
	"smallint":                    "int2",
	"time with time zone":         "timetz",
	"time without time zone":      "time",
	"timestamp with time zone":    "timestamptz",
	"timestamp without time zone": "timestamp",
}

// typeWord is one identifier of a type name.
type typeWord struct {
	text           string
	quoted, dotted bool   // dotted: a dot comes before it
	rest           string // of the name, from this word on
}

// splitTypeName reads the identifiers, skips modifiers such as `(10, 2)`, and says
// whether array bounds follow.
func splitTypeName(s string) (words []typeWord, array bool, err error) {
	rest := strings.TrimSpace(s)
	dotted := false
	for rest != "" {
		w := typeWord{rest: rest}
		switch {
		case rest[0] == '(' && len(words) > 0:
			end := strings.IndexByte(rest, ')')
			if end < 0 {
				return nil, false, badTypeName("")
			}
			rest = strings.TrimSpace(rest[end+1:])
			continue
		case rest[0] == '[' && len(words) > 0:
			return words, true, arrayBounds(rest)
		case rest[0] == '.' && len(words) > 0 && !dotted:
			dotted, rest = true, strings.TrimSpace(rest[1:])
			continue
		case rest[0] == '"':
			w.quoted = true
			w.text, rest = cutQuoted(rest)
		default:
			w.text, rest = cutWord(rest)
		}
		if w.text == "" {
			return nil, false, badTypeName(rest)
		}
		w.text = datum.TruncateName(w.text)
		w.dotted, dotted = dotted, false
		words, rest = append(words, w), strings.TrimSpace(rest)
	}
	if len(words) == 0 || dotted {
		return nil, false, badTypeName("")
	}
	return words, false, nil
}

func arrayBounds(bounds string) error {
	for bounds != "" {
		size, rest, ok := strings.Cut(strings.TrimPrefix(bounds, "["), "]")
		switch {
		case bounds[0] != '[':
			return badTypeName(bounds)
		case !ok && strings.Trim(size, " 0123456789") == "":
			return badTypeName("")
		case strings.Trim(size, " 0123456789") != "":
			return badTypeName(strings.TrimLeft(size, " 0123456789"))
		}
		bounds = strings.TrimSpace(rest)
	}
	return nil
}

// cutQuoted takes a quoted identifier off the start of s; text is "" if it has no
// end.
func cutQuoted(s string) (text, rest string) {
	end := quotedEnd(s)
	if end < 0 {
		return "", s
	}
	return strings.ReplaceAll(s[1:end-1], `""`, `"`), s[end:]
}

// cutWord takes an identifier without quotes off the start of s and folds it.
func cutWord(s string) (text, rest string) {
	end := strings.IndexFunc(s, func(r rune) bool {
		return r < 0x80 && !strings.ContainsRune("_$0123456789", r) && (r|0x20 < 'a' || r|0x20 > 'z')
	})
	if end < 0 {
		end = len(s)
	}
	if end == 0 || strings.ContainsRune("$0123456789", rune(s[0])) {
		return "", s
	}
	return strings.Map(lower, s[:end]), s[end:]
}

// lower folds as identifiers are: letters beyond ASCII keep their case.
func lower(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		return r + 'a' - 'A'
	}
	return r
}

// badTypeName is the parser's error; rest is what it did not expect.
func badTypeName(rest string) error {
	rest = strings.TrimSpace(rest)
	if rest == "" {
		return pgerr.Newf(codes.Syntax, "syntax error at end of input")
	}
	const operators = "+-*/<>=~!@#%^&|`?"
	n := len(rest) - len(strings.TrimLeft(rest, operators))
	if n == 0 {
		word, after := cutWord(rest)
		if n = len(rest) - len(after); word == "" {
			n = 1
		}
		if rest[0] == '"' || rest[0] == '\'' || rest[0] == '$' || rest[0] >= '0' && rest[0] <= '9' {
			return refusal("what this type name means")
		}
	}
	return pgerr.Newf(codes.Syntax, "syntax error at or near \"%s\"", rest[:n])
}

// quotedEnd is where the quoted identifier at the start of s ends, or -1 if it does
// not.
func quotedEnd(s string) int {
	for i := 1; i < len(s); i++ {
		if s[i] != '"' {
			continue
		}
		if i+1 == len(s) || s[i+1] != '"' {
			return i + 1
		}
		i++
	}
	return -1
}
