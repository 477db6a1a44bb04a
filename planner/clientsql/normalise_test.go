package clientsql

import "strings"

// normalise is a lexer that is good enough for the texts of these tests.
func normalise(sql string) (text string, literals []string) {
	var tokens []string
	for sql != "" {
		token, literal, rest := nextToken(sql)
		if token == "?" {
			literals = append(literals, literal)
		}
		if token != "" {
			tokens = append(tokens, token)
		}
		sql = rest
	}
	for len(tokens) > 0 && tokens[len(tokens)-1] == ";" {
		tokens = tokens[:len(tokens)-1]
	}
	return strings.Join(tokens, " "), literals
}

const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
	digits  = "0123456789"
)

// nextToken takes a token off the start of sql; it is "" for white space and
// comments.
func nextToken(sql string) (token, literal, rest string) {
	switch c := sql[0]; {
	case strings.ContainsRune(" \t\r\n", rune(c)):
		return "", "", sql[1:]
	case strings.HasPrefix(sql, "--"):
		_, rest, _ = strings.Cut(sql, "\n")
		return "", "", rest
	case strings.HasPrefix(sql, "/*"):
		_, rest, _ = strings.Cut(sql, "*/")
		return "", "", rest
	case c == '\'':
		literal, rest = cutString(sql, '\'')
		return "?", literal, rest
	case strings.HasPrefix(sql, "E'"):
		literal, rest = cutString(sql[1:], '\'')
		return "?", strings.ReplaceAll(literal, `\n`, "\n"), rest
	case c == '"':
		name, rest := cutString(sql, '"')
		if strings.Trim(name, strings.ToLower(letters)+digits) == "" {
			return name, "", rest
		}
		return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`, "", rest
	case strings.ContainsRune(letters, rune(c)):
		word := sql[:len(sql)-len(strings.TrimLeft(sql, letters+digits+"$"))]
		return strings.ToLower(word), "", sql[len(word):]
	case strings.ContainsRune(digits, rune(c)):
		number := sql[:len(sql)-len(strings.TrimLeft(sql, digits+"."))]
		return "?", number, sql[len(number):]
	case c == '$':
		n := len(sql) - len(strings.TrimLeft(sql[1:], digits))
		return sql[:n], "", sql[n:]
	}
	if strings.HasPrefix(sql, "::") {
		return "::", "", sql[2:]
	}
	operator := operatorOf(sql)
	return operator, "", sql[len(operator):]
}

// operatorOf is the operator, or the one other character, at the start of sql.
func operatorOf(sql string) string {
	operator := sql[:len(sql)-len(strings.TrimLeft(sql, "+-*/<>=~!@#%^&|`?"))]
	for _, comment := range []string{"--", "/*"} {
		operator, _, _ = strings.Cut(operator, comment)
	}
	if !strings.ContainsAny(operator, "~!@#%^&|`?") {
		for len(operator) > 1 && strings.ContainsAny(operator[len(operator)-1:], "+-") {
			operator = operator[:len(operator)-1]
		}
	}
	if operator == "" {
		return sql[:1]
	}
	return operator
}

func cutString(s string, quote byte) (text, rest string) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		if s[i] == quote {
			if i+1 == len(s) || s[i+1] != quote {
				return b.String(), s[i+1:]
			}
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String(), ""
}
