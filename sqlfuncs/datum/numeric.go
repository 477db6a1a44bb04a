package datum

import (
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/sqlfuncs/pgerr"
)

// maxExponent bounds how long the digits of a number become that was written with
// an exponent.
const maxExponent = 1000

// maxNumeric bounds the digits that are computed with here.
const maxNumeric = 4096

// parseNumeric reads a finite number and keeps it as numeric_out would write it:
// all its digits, no exponent, no superfluous zero before the point.
func parseNumeric(s string) (Datum, error) {
	number := strings.Trim(s, " \t\n\r\v\f")
	unsigned := strings.ToLower(strings.TrimLeft(number, "+-"))
	if unsigned == "nan" || unsigned == "inf" || unsigned == "infinity" || len(number) > maxNumeric {
		return Datum{}, pgerr.Newf(codes.FeatureNotSupported, "this number needs an [upstream]")
	}
	mantissa, exponentText, hasExponent := number, "", false
	if i := strings.IndexAny(number, "eE"); i >= 0 {
		mantissa, exponentText, hasExponent = number[:i], number[i+1:], true
	}
	negative := strings.HasPrefix(mantissa, "-")
	if negative || strings.HasPrefix(mantissa, "+") {
		mantissa = mantissa[1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	exponent, err := strconv.Atoi(exponentText)
	switch {
	case whole+fraction == "" || !isDigits(whole) || !isDigits(fraction) || hasExponent && !isDecimal(exponentText):
		return Datum{}, invalidInput(Numeric, s)
	case hasExponent && (err != nil || exponent > maxExponent || exponent < -maxExponent):
		return Datum{}, pgerr.Newf(codes.FeatureNotSupported, "a number of this size needs an [upstream]")
	}
	whole, fraction = shift(whole, fraction, exponent)
	whole = strings.TrimLeft(whole, "0")
	if whole == "" {
		whole = "0"
	}
	if negative && strings.Trim(whole+fraction, "0") != "" {
		whole = "-" + whole
	}
	if fraction != "" {
		whole += "." + fraction
	}
	return OfText(whole), nil
}

func isDigits(s string) bool { return s == "" || isDecimal(s) && s[0] != '-' && s[0] != '+' }

// shift moves the decimal point to the right by n digits.
func shift(whole, fraction string, n int) (string, string) {
	for ; n > 0; n-- {
		digit := "0"
		if fraction != "" {
			digit, fraction = fraction[:1], fraction[1:]
		}
		whole += digit
	}
	for ; n < 0; n++ {
		digit := "0"
		if whole != "" {
			digit, whole = whole[len(whole)-1:], whole[:len(whole)-1]
		}
		fraction = digit + fraction
	}
	return whole, fraction
}

// appendNumeric appends the binary form of a plain decimal number: groups of four
// digits without leading or trailing zero groups, the weight of the first, the
// sign, and how many digits are shown after the point.
// (numeric_send in PostgreSQL's numeric.c)
func appendNumeric(dst []byte, text string) []byte {
	const groupDigits, negative = 4, 0x4000
	sign := uint16(0)
	if strings.HasPrefix(text, "-") {
		sign, text = negative, text[1:]
	}
	whole, fraction, _ := strings.Cut(text, ".")
	scale := len(fraction)
	whole = strings.Repeat("0", (groupDigits-len(whole)%groupDigits)%groupDigits) + whole
	fraction += strings.Repeat("0", (groupDigits-len(fraction)%groupDigits)%groupDigits)

	weight := len(whole)/groupDigits - 1
	var groups []uint16
	for digits := whole + fraction; digits != ""; digits = digits[groupDigits:] {
		group := uint16(0)
		for _, c := range digits[:groupDigits] {
			group = group*10 + uint16(c-'0')
		}
		groups = append(groups, group)
	}
	for len(groups) > 0 && groups[0] == 0 {
		groups = groups[1:]
		weight--
	}
	for len(groups) > 0 && groups[len(groups)-1] == 0 {
		groups = groups[:len(groups)-1]
	}
	if len(groups) == 0 {
		weight, sign = 0, 0
	}
	for _, field := range []uint16{uint16(len(groups)), uint16(weight), sign, uint16(scale)} {
		dst = binary.BigEndian.AppendUint16(dst, field)
	}
	for _, group := range groups {
		dst = binary.BigEndian.AppendUint16(dst, group)
	}
	return dst
}
