package datum

import "fmt"

// A value of type "char" is a single byte. It is kept as the text that PostgreSQL's
// charout makes of it: nothing for a zero, an octal escape for what is not ASCII.

// charByte is charin: the first byte, or the one of an octal escape.
func charByte(s string) byte {
	if len(s) == 4 && s[0] == '\\' && isOctal(s[1]) && isOctal(s[2]) && isOctal(s[3]) {
		return (s[1]-'0')<<6 | (s[2]-'0')<<3 | (s[3] - '0')
	}
	if s == "" {
		return 0
	}
	return s[0]
}

func isOctal(c byte) bool { return c >= '0' && c <= '7' }

func parseChar(s string) string { return formatChar(charByte(s)) }

func formatChar(c byte) string {
	switch {
	case c == 0:
		return ""
	case c >= 0x80:
		return fmt.Sprintf("\\%03o", c)
	}
	return string(rune(c))
}
