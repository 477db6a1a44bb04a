package frontend

import (
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
	// Times is how moments are written; its Zone is nil until the settings are looked at.
	Times datum.TimeForm
	Text  wire.Transcoder
}
