package planner

import "strings"

// quotedName is a name in quotes, whatever it is.
func quotedName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// quotedLiteral is a string that is read the same with standard_conforming_strings
// on and off.
func quotedLiteral(s string) string {
	quoted := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	if strings.IndexByte(s, '\\') >= 0 {
		return "E" + strings.ReplaceAll(quoted, `\`, `\\`)
	}
	return quoted
}
