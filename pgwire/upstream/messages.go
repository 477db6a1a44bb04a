package upstream

import (
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"

	"raisinproxy/pgwire/wire"
)

// Reserved begins the names of the proxy's own statements and portals in an upstream, which a client may
// not touch.
const Reserved = "_raisin_"

// A Name is that of a statement of the proxy's, and of a portal of it. A text of the proxy's never goes
// without one, nor as a simple query: either would destroy the client's unnamed statement or portal.
type Name string

// The names of what is parsed anew each time.
const (
	Probe     Name = Reserved + "probe"   // what does a text mean
	Arguments Name = Reserved + "args"    // computes the arguments of calls
	Main      Name = Reserved + "main"    // the client's statement, with the results of calls
	Executed  Name = Reserved + "execute" // returns the arguments of an EXECUTE
	Control   Name = Reserved + "control" // commands that the client knows nothing of
)

// Messages are for an upstream, in the extended protocol. Sync and Flush are not among them.
type Messages []pgproto3.FrontendMessage

// Prepare parses a text.
func Prepare(name Name, sql string, types []uint32) Messages {
	return Messages{
		&pgproto3.Close{ObjectType: 'S', Name: string(name)},
		&pgproto3.Parse{Name: string(name), Query: sql, ParameterOIDs: types},
	}
}

// Describe asks what a prepared statement takes and returns.
func Describe(name string) Messages {
	return Messages{&pgproto3.Describe{ObjectType: 'S', Name: name}}
}

// Execute runs a prepared statement to its end.
func Execute(name Name, values []wire.RawValue) Messages {
	return Messages{
		&pgproto3.Close{ObjectType: 'P', Name: string(name)}, // left where it failed, until its block ends
		wire.BindRaw(string(name), string(name), values, nil, nil),
		&pgproto3.Execute{Portal: string(name)},
		&pgproto3.Close{ObjectType: 'P', Name: string(name)},
	}
}

// Run runs a text once and leaves nothing behind.
func Run(name Name, sql string, types []uint32, values []wire.RawValue) Messages {
	return slices.Concat(Prepare(name, sql, types), Execute(name, values), Messages{&pgproto3.Close{ObjectType: 'S', Name: string(name)}})
}

// OpenPortal makes a portal of Main.
func OpenPortal(portal string, values, hidden []wire.RawValue, formats []int16) Messages {
	return Messages{
		&pgproto3.Close{ObjectType: 'P', Name: portal},
		wire.BindRaw(portal, string(Main), values, hidden, formats),
	}
}

// Fetch runs a portal: up to so many rows; 0: all.
func Fetch(portal string, maxRows int) Messages {
	return Messages{&pgproto3.Execute{Portal: portal, MaxRows: uint32(maxRows)}}
}

// ClosePortal closes one.
func ClosePortal(portal string) Messages {
	return Messages{&pgproto3.Close{ObjectType: 'P', Name: portal}}
}

func encode(messages ...pgproto3.FrontendMessage) []byte {
	var out []byte
	for _, m := range messages {
		out, _ = m.Encode(out) // too short to fail
	}
	return out
}

// endsAnswer says whether a message is the last of the answer to a message.
func endsAnswer(kind byte) bool { return strings.IndexByte("12nTCIs3", kind) >= 0 }

// answersTo recognizes the last answer to so many messages, or the error that takes its
// place. Each of Parse, Bind, Describe, Execute and Close has one answer that ends it.
func answersTo(messages int) func(kind byte) bool {
	return func(kind byte) bool {
		if endsAnswer(kind) {
			messages--
		}
		return messages <= 0 || kind == 'E'
	}
}

func untilReady(kind byte) bool { return kind == 'Z' }
