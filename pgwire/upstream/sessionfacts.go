package upstream

import (
	"strconv"
	"strings"
	"time"

	"raisinproxy/pgwire/wire"
)

// Facts are what is true of the session there, and calls depend on it: any statement that runs there may change them.
// Names are in the client's encoding.
type Facts struct {
	Branch   []byte        // the setting app.branch; nil: it is not set
	Timeout  time.Duration // statement_timeout; 0: none
	Standard bool          // standard_conforming_strings
	Encoding string        // client_encoding
	Database []byte
}

// factsQuery asks for them all.
const factsQuery = "SELECT pg_catalog.current_setting('app.branch', true), pg_catalog.current_setting('statement_timeout'), " +
	"pg_catalog.current_setting('standard_conforming_strings'), pg_catalog.current_setting('client_encoding'), pg_catalog.current_database()"

func readFacts(row [][]byte) *Facts {
	return &Facts{
		Branch:   row[0],
		Timeout:  parseTimeout(string(row[1])),
		Standard: string(row[2]) != "off",
		Encoding: string(row[3]),
		Database: row[4],
	}
}

// AskFacts asks for the facts, and leaves nothing behind.
func (c *Conversation) AskFacts(learn func(*Facts)) Part {
	return Part{Messages: Run(Control, factsQuery, nil, nil), Visit: Each('D', func(body []byte) { learn(readFacts(wire.ReadRow(body))) })}
}

// AskFactsAgain is AskFacts by a statement that stays prepared.
func (c *Conversation) AskFactsAgain(learn func(*Facts)) Part {
	return c.Ask("facts", factsQuery, nil, nil, func(row [][]byte) { learn(readFacts(row)) })
}

// parseTimeout reads a time as SHOW prints it: 0, 250ms, 5s, 1min, 2h, 1d.
func parseTimeout(text string) time.Duration {
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0
	}
	units := map[string]time.Duration{"": time.Millisecond, "ms": time.Millisecond, "s": time.Second, "min": time.Minute, "h": time.Hour, "d": 24 * time.Hour}
	return time.Duration(n) * units[text[len(digits):]]
}
