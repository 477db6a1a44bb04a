package frontend

import (
	"time"

	"raisinproxy/pgwire/settings"
	"raisinproxy/pgwire/wire"
	"raisinproxy/sqlfuncs/datum"
)

// view is a session's settings, and what is derived from them.
type view struct {
	Vars *settings.Set
	// Seen is the version of the settings that the fields below were derived from.
	Seen     uint64
	Standard bool // standard_conforming_strings
	Zone     *time.Location
	// DateStyle is as SHOW prints it.
	DateStyle string
	Text      wire.Transcoder
}

// Time is the text of a timestamptz as the session's settings want it.
func (v *view) Time(d datum.Datum) datum.Datum {
	return datum.OfText(string(datum.AppendTimestamptz(nil, d, v.Zone, v.DateStyle)))
}
