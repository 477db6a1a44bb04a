package settings

import (
	"math"
	"strconv"
	"strings"
)

// Numbers as the C library reads and writes them, which PostgreSQL leaves them to.

const cSpace = " \t\n\v\f\r"

// leadingInteger is strtol with base 0: decimal, 0x hexadecimal or 0 octal. rest is s where there is no number.
func leadingInteger(s string) (v float64, rest string, outOfRange bool) {
	t := strings.TrimLeft(s, cSpace)
	negative, t := cutSign(t)
	base := uint64(10)
	switch {
	case isHex(t):
		base, t = 16, t[2:]
	case strings.HasPrefix(t, "0"):
		base = 8
	}
	n := 0
	var u uint64
	for ; n < len(t) && digitOf(t[n]) < base; n++ {
		if u > (math.MaxInt64-digitOf(t[n]))/base {
			outOfRange = true
			continue
		}
		u = u*base + digitOf(t[n])
	}
	if n == 0 {
		return 0, s, false
	}
	v = float64(u)
	if negative {
		v = -v
	}
	return v, t[n:], outOfRange
}

// leadingReal is strtod. rest is s where there is no number.
func leadingReal(s string) (v float64, rest string, outOfRange bool) {
	t := strings.TrimLeft(s, cSpace)
	negative, t := cutSign(t)
	n := realLength(t)
	if n == 0 {
		return 0, s, false
	}
	number := t[:n]
	if isHex(number) && !strings.ContainsAny(number, "pP") {
		number += "p0" // Go asks for it
	}
	v, err := strconv.ParseFloat(number, 64)
	underflow := v < 0x1p-1022 && strings.ContainsAny(mantissa(number), "123456789abcdefABCDEF")
	if negative {
		v = -v
	}
	return v, t[n:], err != nil || underflow
}

// mantissa is what stands before the exponent.
func mantissa(number string) string {
	exponent := "eE"
	if isHex(number) {
		number, exponent = number[2:], "pP"
	}
	if i := strings.IndexAny(number, exponent); i >= 0 {
		return number[:i]
	}
	return number
}

// realLength is how much of t, which has no sign, is a number.
func realLength(t string) int {
	lower := fold(t)
	for _, word := range []string{"infinity", "inf", "nan"} {
		if strings.HasPrefix(lower, word) {
			return len(word)
		}
	}
	base, exponent, n := uint64(10), byte('e'), 0
	if isHex(t) || len(t) > 3 && t[0] == '0' && lower[1] == 'x' && t[2] == '.' && digitOf(t[3]) < 16 {
		base, exponent, n = 16, 'p', 2
	}
	digits := 0
	point := false
	for ; n < len(t); n++ {
		if t[n] == '.' && !point {
			point = true
		} else if digitOf(t[n]) < base {
			digits++
		} else {
			break
		}
	}
	if digits == 0 {
		return 0
	}
	if n < len(t) && lower[n] == exponent {
		e := n + 1
		if e < len(t) && (t[e] == '+' || t[e] == '-') {
			e++
		}
		if e < len(t) && digitOf(t[e]) < 10 {
			for n = e; n < len(t) && digitOf(t[n]) < 10; {
				n++
			}
		}
	}
	return n
}

func isHex(t string) bool {
	return len(t) > 2 && t[0] == '0' && (t[1] == 'x' || t[1] == 'X') && digitOf(t[2]) < 16
}

func cutSign(t string) (negative bool, rest string) {
	if t != "" && (t[0] == '-' || t[0] == '+') {
		return t[0] == '-', t[1:]
	}
	return false, t
}

// digitOf is more than any base for what is not a digit.
func digitOf(c byte) uint64 {
	switch {
	case c >= '0' && c <= '9':
		return uint64(c - '0')
	case c >= 'a' && c <= 'f':
		return uint64(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return uint64(c-'A') + 10
	}
	return 99
}

// formatG is printf's %g, with PostgreSQL's word for an infinity.
func formatG(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}
