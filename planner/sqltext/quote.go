package sqltext

import "strings"

// QuotedName is a name in quotes, whatever it is.
func QuotedName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// QuotedLiteral is a string that is read the same with standard_conforming_strings
// on and off.
func QuotedLiteral(s string) string {
	quoted := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	if strings.IndexByte(s, '\\') >= 0 {
		return "E" + strings.ReplaceAll(quoted, `\`, `\\`)
	}
	return quoted
}

// unquoted is the name that a quoted one says.
func unquoted(quoted string) string {
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `""`, `"`)
}

// quoteIdent quotes a name where it would not be read back as itself.
func quoteIdent(name string) string {
	plain := name != "" && name != "user"
	for i, c := range []byte(name) {
		plain = plain && (c == '_' || 'a' <= c && c <= 'z' || i > 0 && '0' <= c && c <= '9')
	}
	if plain {
		return name
	}
	return QuotedName(name)
}
