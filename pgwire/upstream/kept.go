package upstream

import (
	"slices"

	"github.com/jackc/pgx/v5/pgproto3"

	"raisinproxy/pgwire/wire"
)

// kept are the statements that stay prepared for the proxy's own questions, since planning them costs many
// times what executing them does.
type kept struct {
	names   []Name // the newest last
	dropped int64  // how often the upstream had dropped all statements when they were prepared
}

// mostKept bounds how many are kept. Questions of the same form share one.
const mostKept = 64

// Ask is a question with one row as its answer. The name stands for the text: equal names are equal texts.
func (c *Conversation) Ask(name, sql string, values []wire.RawValue, types []uint32, answer func(row [][]byte)) Part {
	own := Name(Reserved + name)
	messages := c.kept.makeRoom(own)
	if !c.kept.has(own, c.conn.Marks().Dropped) {
		messages = append(messages, Prepare(own, sql, types)...)
	}
	return Part{
		Messages: append(messages, Execute(own, values)...),
		own:      true,
		Visit: func(kind byte, body []byte) error {
			switch kind {
			case '1':
				c.kept.add(own, c.conn.Marks().Dropped)
			case 'D':
				answer(wire.ReadRow(body))
			}
			return nil
		},
	}
}

func (k *kept) has(name Name, dropped int64) bool {
	return slices.Contains(k.names, name) && k.dropped == dropped
}

func (k *kept) add(name Name, dropped int64) {
	if k.dropped != dropped {
		*k = kept{dropped: dropped}
	}
	k.names = append(k.names, name)
}

// makeRoom drops the oldest if there is no room for another.
func (k *kept) makeRoom(name Name) Messages {
	if len(k.names) < mostKept || slices.Contains(k.names, name) {
		return nil
	}
	oldest := k.names[0]
	k.names = k.names[1:]
	return Messages{&pgproto3.Close{ObjectType: 'S', Name: string(oldest)}}
}

// forget is called when one is not there that should be: a function of the client's has
// dropped all statements, for example.
func (k *kept) forget() { k.names = nil }
