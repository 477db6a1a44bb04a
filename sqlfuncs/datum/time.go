package datum

import (
	"strings"
	"time"
)

// TimeForm is how a session writes a timestamptz.
type TimeForm struct {
	Zone *time.Location
	// Style is that of the setting DateStyle: "" is ISO.
	Style    string
	DayFirst bool
}

// NewTimeForm reads the settings TimeZone, which is loaded already, and DateStyle, such as "SQL, DMY".
func NewTimeForm(zone *time.Location, dateStyle string) TimeForm {
	style, order, _ := strings.Cut(dateStyle, ", ")
	return TimeForm{Zone: zone, Style: style, DayFirst: order == "DMY"}
}

// append writes a moment: no trailing zeros in the fraction, and in the style ISO an offset as
// short as it can be. nil is UTC and ISO.
func (f *TimeForm) append(dst []byte, t time.Time) []byte {
	if f == nil {
		return appendISO(dst, t.UTC())
	}
	t = t.In(f.Zone)
	zone, _ := t.Zone()
	const clock = "15:04:05.999999"
	switch {
	case f.Style == "SQL" && f.DayFirst:
		dst = t.AppendFormat(dst, "02/01/2006 "+clock)
	case f.Style == "SQL":
		dst = t.AppendFormat(dst, "01/02/2006 "+clock)
	case f.Style == "German":
		dst = t.AppendFormat(dst, "02.01.2006 "+clock)
	case f.Style == "Postgres" && f.DayFirst:
		dst = t.AppendFormat(dst, "Mon 02 Jan "+clock+" 2006")
	case f.Style == "Postgres":
		dst = t.AppendFormat(dst, "Mon Jan 02 "+clock+" 2006")
	default:
		return appendISO(dst, t)
	}
	return append(append(dst, ' '), zone...)
}

func appendISO(dst []byte, t time.Time) []byte {
	dst = t.AppendFormat(dst, "2006-01-02 15:04:05.999999")
	_, offset := t.Zone()
	switch {
	case offset%3600 == 0:
		return t.AppendFormat(dst, "-07")
	case offset%60 == 0:
		return t.AppendFormat(dst, "-07:00")
	}
	return t.AppendFormat(dst, "-07:00:00")
}
