package wire

import (
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// Message is one message of a client's, decoded once. What of it is text lies in the frame that it was decoded from.
type Message struct {
	Kind byte
	Body []byte // as it came
	// Bad is what is wrong with it; nil: nothing. Fields before the fault are right.
	Bad *pgerr.Error

	Object    byte         // Describe, Close: 'S' for a statement, 'P' for a portal
	Statement []byte       // a name: Parse, Bind, and Describe and Close of one
	Portal    []byte       // a name: Bind, Execute, and Describe and Close of one
	Text      []byte       // Query, Parse
	Types     []datum.Type // Parse: declared types of parameters
	MaxRows   int32        // Execute
	// Rest is what follows: the types of Parse as they came, the values of Bind.
	Rest []byte
}

// Decode takes a message apart. Of Bind only the names are decoded: the values depend on the statement.
func (m *Message) Decode(kind byte, body []byte) {
	*m = Message{Kind: kind, Body: body}
	b := Body{Rest: body}
	switch kind {
	case 'Q':
		m.Text = b.Text()
	case 'P':
		m.Statement, m.Text = b.Text(), b.Text()
		m.Rest = b.Rest
		for range b.Count() {
			m.Types = append(m.Types, datum.Type(b.Int32()))
		}
	case 'B':
		m.Portal, m.Statement = b.Text(), b.Text()
		m.Rest, m.Bad = b.Rest, b.Bad
		return
	case 'E':
		m.Portal, m.MaxRows = b.Text(), b.Int32()
	case 'D', 'C':
		m.Object = b.Byte()
		if name := b.Text(); m.Object == 'P' {
			m.Portal = name
		} else {
			m.Statement = name
		}
	default:
		return
	}
	m.Bad = b.Done()
}

// Parameter is one name and value of the start-up packet.
type Parameter struct{ Name, Value string }
