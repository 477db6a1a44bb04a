package settings

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"
)

// A posixZone is a POSIX TZ string, like EST5EDT,M3.2.0,M11.1.0, within PostgreSQL's
// limits (src/timezone/localtime.c, tzparse): names may be of any length, even empty.
type posixZone struct {
	standard, summer     string // summer is "" without daylight saving
	standardWest         int    // seconds west of UTC
	summerWest           int
	summerFrom, summerTo string // rules; both "" stand for the United States'
}

const maxOffsetHours = 167

func parsePosixZone(text string) (z posixZone, ok bool) {
	if z.standard, text, ok = cutZoneName(text); !ok {
		return z, false
	}
	if z.standardWest, text, ok = cutOffset(text); !ok || text == "" {
		return z, ok
	}
	if z.summer, text, ok = cutZoneName(text); !ok || z.summer == "" {
		return z, false
	}
	z.summerWest = z.standardWest - 3600
	if text != "" && text[0] != ',' && text[0] != ';' {
		if z.summerWest, text, ok = cutOffset(text); !ok {
			return z, false
		}
	}
	if text == "" {
		return z, true
	}
	if text[0] != ',' && text[0] != ';' {
		return z, false
	}
	z.summerFrom, z.summerTo, ok = strings.Cut(text[1:], ",")
	return z, ok && validRule(z.summerFrom) && validRule(z.summerTo)
}

// cutZoneName cuts <anything> or all up to a digit, a sign or a comma.
func cutZoneName(text string) (name, rest string, ok bool) {
	if strings.HasPrefix(text, "<") {
		return strings.Cut(text[1:], ">")
	}
	n := strings.IndexAny(text, "0123456789,-+")
	if n < 0 {
		n = len(text)
	}
	return text[:n], text[n:], true
}

// cutOffset cuts [+-]hh[:mm[:ss]].
func cutOffset(text string) (seconds int, rest string, ok bool) {
	negative, rest := cutSign(text)
	for i, limit := range []int{maxOffsetHours, 59, 60} {
		if i > 0 {
			if !strings.HasPrefix(rest, ":") {
				break
			}
			rest = rest[1:]
		}
		var n int
		if n, rest, ok = cutNumber(rest, 0, limit); !ok {
			return 0, "", false
		}
		seconds += n * []int{3600, 60, 1}[i]
	}
	if negative {
		seconds = -seconds
	}
	return seconds, rest, true
}

func cutNumber(text string, low, high int) (n int, rest string, ok bool) {
	i := 0
	for ; i < len(text) && digitOf(text[i]) < 10; i++ {
		if n = n*10 + int(digitOf(text[i])); n > high {
			return 0, "", false
		}
	}
	return n, text[i:], i > 0 && n >= low
}

// validRule: Jn, n or Mm.w.d, with an optional /time.
func validRule(text string) bool {
	day, clock, timed := strings.Cut(text, "/")
	if timed {
		if _, rest, ok := cutOffset(clock); !ok || rest != "" {
			return false
		}
	}
	bounds := [][2]int{{0, 365}}
	switch {
	case strings.HasPrefix(day, "J"):
		day, bounds = day[1:], [][2]int{{1, 365}}
	case strings.HasPrefix(day, "M"):
		day, bounds = day[1:], [][2]int{{1, 12}, {1, 5}, {0, 6}}
	}
	for i, b := range bounds {
		if i > 0 {
			if !strings.HasPrefix(day, ".") {
				return false
			}
			day = day[1:]
		}
		var ok bool
		if _, day, ok = cutNumber(day, b[0], b[1]); !ok {
			return false
		}
	}
	return day == ""
}

// location makes Go compute the zone: it knows TZ strings only as the last line of a zone file (RFC 8536).
func (z posixZone) location(name string) *time.Location {
	standard := abbreviation(z.standard)
	file := zoneFileHeader(0, 0)
	file = append(file, zoneFileHeader(1, len(standard)+1)...)
	file = binary.BigEndian.AppendUint32(file, uint32(-z.standardWest))
	file = append(file, 0, 0) // not daylight saving; the abbreviation begins at 0
	file = append(file, standard...)
	file = append(file, 0)
	if z.summer != "" {
		file = append(file, "\n"+z.normalized()+"\n"...)
	}
	zone, err := time.LoadLocationFromTZData(name, file)
	if err != nil { // never: the file is well formed
		return time.UTC
	}
	return zone
}

// zoneFileHeader counts types and the bytes of their names; everything else a file may have is absent.
func zoneFileHeader(types, names int) []byte {
	header := append([]byte("TZif2"), make([]byte, 15)...)
	for _, count := range []int{0, 0, 0, 0, types, names} {
		header = binary.BigEndian.AppendUint32(header, uint32(count))
	}
	return header
}

// normalized spells z as Go reads it.
func (z posixZone) normalized() string {
	offset := func(west int) string {
		sign := ""
		if west < 0 {
			sign, west = "-", -west
		}
		return fmt.Sprintf("%s%d:%02d:%02d", sign, west/3600, west/60%60, west%60)
	}
	text := "<" + abbreviation(z.standard) + ">" + offset(z.standardWest) + "<" + abbreviation(z.summer) + ">" + offset(z.summerWest)
	if z.summerFrom != "" {
		text += "," + z.summerFrom + "," + z.summerTo
	}
	return text
}

// abbreviation leaves out of a name what a zone file cannot hold.
func abbreviation(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == '<' || r == '>' || r == 0x7f {
			return -1
		}
		return r
	}, name)
}
