package upstream

import (
	"slices"

	"github.com/jackc/pgx/v5/pgproto3"

	"raisinproxy/pgwire/wire"
)

// This file keeps statements prepared for the proxy's own questions, since planning them costs many times
// what executing them does.

// mostKept bounds how many are kept. Questions of the same form share one.
const mostKept = 64

// Ask is a question with one row as its answer. The name stands for the text: equal names are equal texts.
func (c *Conversation) Ask(name, sql string, values []wire.RawValue, types []uint32, answer func(row [][]byte)) Part {
	own := Name(Reserved + name)
	return Part{
		Messages: append(c.keep(own, sql, types), Execute(own, values)...),
		own:      true,
		Visit: func(kind byte, body []byte) error {
			switch kind {
			case '1':
				c.kept = append(c.kept, own)
			case 'D':
				answer(wire.ReadRow(body))
			}
			return nil
		},
	}
}

// keep prepares a statement, unless it is there, and drops the oldest if there is no room for another.
func (c *Conversation) keep(name Name, sql string, types []uint32) (messages Messages) {
	if dropped := c.conn.Marks().Dropped; c.keptSince != dropped {
		c.kept, c.keptSince = nil, dropped
	}
	if slices.Contains(c.kept, name) {
		return nil
	}
	if len(c.kept) >= mostKept {
		messages = Messages{&pgproto3.Close{ObjectType: 'S', Name: string(c.kept[0])}}
		c.kept = c.kept[1:]
	}
	return append(messages, Prepare(name, sql, types)...)
}
