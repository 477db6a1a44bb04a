package settings

import (
	_ "embed"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // the server's machine need not have any

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/sqlfuncs/pgerr"
)

// zones are the names in time/tzdata; PostgreSQL 15 lists the same ones.
//
//go:embed zones.txt
var zones string

// zoneNames has the canonical name of each upper-case one.
var zoneNames = sync.OnceValue(func() map[string]string {
	names := make(map[string]string)
	for name := range strings.FieldsSeq(zones) {
		names[strings.ToUpper(name)] = name
	}
	return names
})

// checkZone takes hours east of UTC, INTERVAL '...', a name, or a POSIX TZ string.
func checkZone(_ *Set, p *parameter, v string) (string, error) {
	if len(v) >= 8 && fold(v[:8]) == "interval" {
		return checkIntervalZone(p, v)
	}
	if hours, rest, _ := leadingReal(v); rest == "" && v != "" {
		return checkOffset(p, v, hours*3600)
	}
	name, zone := findZone(v)
	if zone == nil {
		return "", invalid(p.name, v)
	}
	if time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).In(zone).Second() != 0 {
		return "", pgerr.Newf(codes.InvalidParameterValue, "time zone \"%s\" appears to use leap seconds", v).
			WithDetail("PostgreSQL does not support leap seconds.")
	}
	return name, nil
}

// checkIntervalZone reads what SET TIME ZONE INTERVAL '...' is handed on as.
func checkIntervalZone(p *parameter, v string) (string, error) {
	quoted := strings.TrimLeft(v[8:], cSpace)
	if len(quoted) < 2 || quoted[0] != '\'' || strings.IndexByte(quoted[1:], '\'') != len(quoted)-2 {
		return "", invalid(p.name, v)
	}
	text := quoted[1 : len(quoted)-1]
	i, ok := parseInterval(text)
	switch {
	case !ok:
		return "", pgerr.Newf(codes.InvalidDatetimeFormat, "invalid input syntax for type interval: \"%s\"", text)
	case i.months:
		return "", invalid(p.name, v).WithDetail("Cannot specify months in time zone interval.")
	case i.days:
		return "", invalid(p.name, v).WithDetail("Cannot specify days in time zone interval.")
	}
	return checkOffset(p, v, i.seconds)
}

// checkOffset makes the name of a zone that is seconds east of UTC, like <+05:30>-05:30: POSIX counts west.
func checkOffset(p *parameter, v string, seconds float64) (string, error) {
	if math.IsNaN(seconds) || math.Abs(seconds) >= (maxOffsetHours+1)*3600 {
		return "", invalid(p.name, v).WithDetail("UTC timezone offset is out of range.")
	}
	east, west := byte('+'), byte('-')
	if seconds = math.Trunc(seconds); seconds < 0 {
		east, west = west, east
	}
	digits := formatOffset(int(math.Abs(seconds)))
	return "<" + string(east) + digits + ">" + string(west) + digits, nil
}

// formatOffset is hh, hh:mm or hh:mm:ss.
func formatOffset(seconds int) string {
	two := func(n int) string {
		if n < 10 {
			return "0" + strconv.Itoa(n)
		}
		return strconv.Itoa(n)
	}
	text := two(seconds / 3600)
	if seconds %= 3600; seconds != 0 {
		text += ":" + two(seconds/60)
		if seconds %= 60; seconds != 0 {
			text += ":" + two(seconds)
		}
	}
	return text
}

// findZone returns the canonical name of a zone and the zone, nil if there is none.
func findZone(v string) (string, *time.Location) {
	if len(v) > 255 {
		return "", nil
	}
	upper := shiftRange(v, 'a', 'z', 256-('a'-'A'))
	if name, ok := zoneNames()[strings.TrimPrefix(upper, ":")]; ok {
		return name, namedZone(name)
	}
	if z, ok := parsePosixZone(upper); ok && upper[0] != ':' {
		return upper, z.location(upper)
	}
	return "", nil
}

// loadedZones has the named ones only, so that a client cannot fill it.
var loadedZones sync.Map

// namedZone loads a zone of the list once: they are large, and all sessions can share them.
func namedZone(name string) *time.Location {
	if zone, ok := loadedZones.Load(name); ok {
		return zone.(*time.Location)
	}
	zone, err := time.LoadLocation(name)
	if err != nil { // the machine's own file is broken
		return nil
	}
	loadedZones.Store(name, zone)
	return zone
}

// An interval as far as a zone needs it.
type interval struct {
	seconds      float64
	days, months bool
}

// parseInterval reads the plain forms: [+-]h:mm[:ss], and numbers with units; a bare number is seconds.
func parseInterval(text string) (i interval, ok bool) {
	rest := strings.Trim(fold(text), cSpace)
	if rest == "" {
		return i, false
	}
	for rest != "" {
		if clock, after, found := cutClock(rest); found {
			i.seconds += clock
			rest = strings.TrimLeft(after, cSpace)
			continue
		}
		n, after, _ := leadingReal(rest)
		if len(after) == len(rest) {
			return i, false
		}
		after = strings.TrimLeft(after, cSpace)
		end := strings.IndexFunc(after, func(r rune) bool { return r < 'a' || r > 'z' })
		if end < 0 {
			end = len(after)
		}
		switch after[:end] {
		case "", "s", "sec", "secs", "second", "seconds":
			i.seconds += n
		case "m", "min", "mins", "minute", "minutes":
			i.seconds += n * 60
		case "h", "hr", "hrs", "hour", "hours":
			i.seconds += n * 3600
		case "d", "day", "days", "w", "week", "weeks":
			i.days = i.days || n != 0
		case "mon", "mons", "month", "months", "y", "yr", "yrs", "year", "years":
			i.months = i.months || n != 0
		default:
			return i, false
		}
		rest = strings.TrimLeft(after[end:], cSpace)
	}
	return i, true
}

// cutClock reads [+-]h:mm[:ss[.fff]].
func cutClock(text string) (seconds float64, rest string, ok bool) {
	end := strings.IndexAny(text, cSpace)
	if end < 0 {
		end = len(text)
	}
	negative, word := cutSign(text[:end])
	parts := strings.Split(word, ":")
	if len(parts) < 2 || len(parts) > 3 {
		return 0, "", false
	}
	size := 3600.0
	for i, part := range parts {
		n, err := strconv.ParseFloat(part, 64)
		if err != nil || n < 0 || i > 0 && n >= 60 || digitOf(part[0]) > 9 {
			return 0, "", false
		}
		seconds += n * size
		size /= 60
	}
	if negative {
		seconds = -seconds
	}
	return seconds, text[end:], true
}

// Zone is the time zone of a name that a server reports; UTC if it is not known here.
func Zone(name string) *time.Location {
	if _, zone := findZone(name); zone != nil {
		return zone
	}
	return time.UTC
}
