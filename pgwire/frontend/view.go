package frontend

import (
	"time"

	"raisinproxy/pgwire/settings"
	"raisinproxy/pgwire/wire"
)

// view is a session's settings, and what is derived from them.
type view struct {
	Vars *settings.Set
	// Seen is the version of the settings that the fields below were derived from.
	Seen     uint64
	Standard bool // standard_conforming_strings
	Zone     *time.Location
	Text     wire.Transcoder
}
