package settings

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/sqlfuncs/pgerr"
)

// parse makes a value what SHOW shows, or says why it is not one. Messages
// about the form of a value spell the parameter as the client did.
func (s *Set) parse(p *parameter, name, raw string) (text string, err error) {
	switch p.kind {
	case kindBool:
		text, err = parseBool(name, raw)
	case kindInteger:
		text, err = p.parseInteger(name, raw)
	case kindReal:
		text, err = p.parseReal(name, raw)
	case kindEnum:
		text, err = p.parseEnum(name, raw)
	default:
		text = raw
		if p.is(isName) {
			text = s.cutName(raw)
		}
	}
	if err != nil || p.check == nil {
		return text, err
	}
	return p.check(s, p, text)
}

// invalid is the answer to a value that is none. The callers add a detail or a hint.
func invalid(name, value string) *pgerr.Error {
	return pgerr.Newf(codes.InvalidParameterValue, "invalid value for parameter \"%s\": \"%s\"", name, value)
}

func parseBool(name, raw string) (string, error) {
	if on, ok := boolean(raw); ok {
		return onOff(on), nil
	}
	return "", pgerr.Newf(codes.InvalidParameterValue, "parameter \"%s\" requires a Boolean value", name)
}

// boolean takes any prefix that leaves no doubt, in any case.
func boolean(raw string) (on, ok bool) {
	v := fold(raw)
	prefix := func(word string, atLeast int) bool { return len(v) >= atLeast && strings.HasPrefix(word, v) }
	switch {
	case prefix("true", 1), prefix("yes", 1), v == "on", v == "1":
		return true, true
	case prefix("false", 1), prefix("no", 1), prefix("off", 2), v == "0":
		return false, true
	}
	return false, false
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func (p *parameter) parseEnum(name, raw string) (string, error) {
	v := fold(raw)
	for _, known := range p.enum {
		if fold(known) == v {
			return known, nil
		}
	}
	if text := p.unlistedEnum(v); text != "" {
		return text, nil
	}
	return "", invalid(name, raw).WithHint("Available values: %s.", strings.Join(p.enum, ", "))
}

// unlistedEnum are the spellings that PostgreSQL takes but does not tell.
func (p *parameter) unlistedEnum(v string) string {
	switch v {
	case "true", "yes", "1":
		v = "on"
	case "false", "no", "0":
		v = "off"
	case "debug":
		v = "debug2"
	case "info":
		if p.key == "client_min_messages" {
			return v
		}
	default:
		return ""
	}
	if slices.Contains(p.enum, v) {
		return v
	}
	return ""
}

// numberProblem is why a number was refused, beyond not being one.
type numberProblem string

const exceedsInteger numberProblem = "Value exceeds integer range."

func (p *parameter) parseInteger(name, raw string) (string, error) {
	v, problem, ok := readInteger(raw, p.unit)
	if !ok {
		return "", badNumber(name, raw, problem)
	}
	if v < p.min || v > p.max {
		return "", p.outOfRange(name, fmt.Sprintf("%d", int64(v)), fmt.Sprintf("%d .. %d", int64(p.min), int64(p.max)))
	}
	return p.showNumber(v), nil
}

func (p *parameter) parseReal(name, raw string) (string, error) {
	v, problem, ok := readReal(raw, p.unit)
	if !ok {
		return "", badNumber(name, raw, problem)
	}
	if v < p.min || v > p.max {
		return "", p.outOfRange(name, formatG(v), formatG(p.min)+" .. "+formatG(p.max))
	}
	return p.showNumber(v), nil
}

func badNumber(name, raw string, problem numberProblem) error {
	err := invalid(name, raw)
	err.Hint = string(problem)
	return err
}

func (p *parameter) outOfRange(name, v, bounds string) error {
	if p.unit != "" {
		v += " " + p.unit
	}
	return pgerr.Newf(codes.InvalidParameterValue,
		"%s is outside the valid range for parameter \"%s\" (%s)", v, name, bounds)
}

// readInteger reads a number with an optional unit, rounded, in base units.
func readInteger(raw, unit string) (v float64, problem numberProblem, ok bool) {
	v, rest, outOfRange := leadingInteger(raw)
	if outOfRange || rest != "" && strings.ContainsRune(".eE", rune(rest[0])) {
		v, rest, outOfRange = leadingReal(raw)
	}
	if len(rest) == len(raw) || outOfRange {
		return 0, "", false
	}
	if v, problem, ok = toBaseUnit(v, rest, unit); !ok {
		return 0, problem, false
	}
	v = math.RoundToEven(v)
	if v > math.MaxInt32 || v < math.MinInt32 {
		return 0, exceedsInteger, false
	}
	return v, "", true
}

// readReal is readInteger without the rounding.
func readReal(raw, unit string) (v float64, problem numberProblem, ok bool) {
	v, rest, outOfRange := leadingReal(raw)
	if len(rest) == len(raw) || outOfRange {
		return 0, "", false
	}
	return toBaseUnit(v, rest, unit)
}

// showNumber is a number in the greatest unit that keeps it whole.
func (p *parameter) showNumber(v float64) string {
	unit := ""
	if v > 0 && p.unit != "" {
		v, unit = p.greatestUnit(v)
	}
	if p.kind == kindInteger {
		return fmt.Sprintf("%d%s", int64(v), unit)
	}
	return formatG(v) + unit
}

// The length of a name, in bytes.
const maxName = 63

// cutName shortens a value that names something, with PostgreSQL's NOTICE.
func (s *Set) cutName(raw string) string {
	if len(raw) <= maxName {
		return raw
	}
	cut := raw[:maxName]
	for !utf8.RuneStart(raw[len(cut)]) {
		cut = cut[:len(cut)-1]
	}
	notice := pgerr.Newf(codes.NameTooLong, "identifier \"%s\" will be truncated to \"%s\"", raw, cut)
	notice.Severity = pgerr.SeverityNotice
	s.notices = append(s.notices, notice)
	return cut
}
