package pgwire

import (
	"time"

	"raisinproxy/pgwire/settings"
	"raisinproxy/pgwire/wire"
)

// view is a session's settings, and what is derived from them.
type view struct {
	vars *settings.Set
	// seen is the version of the settings that the fields below were derived from.
	seen     uint64
	standard bool // standard_conforming_strings
	zone     *time.Location
	text     wire.Transcoder
}
