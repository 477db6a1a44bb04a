package pgwire

import (
	"slices"

	"raisinproxy/pgwire/settings"
	"raisinproxy/planner"
	"raisinproxy/sqlfuncs/pgerr"
)

// transcoder converts between the client's encoding and UTF-8, in which keys and
// statements are kept. The zero value converts nothing.
type transcoder struct {
	decode, encode func([]byte) ([]byte, error)
}

func transcoderFor(encoding string) transcoder {
	decode, encode, _ := settings.Encoding(encoding)
	return transcoder{decode, encode}
}

func (t transcoder) converts() bool { return t.encode != nil }

func (t transcoder) fromClient(text []byte) ([]byte, error) {
	if t.decode == nil {
		return text, nil
	}
	return t.decode(text)
}

func (t transcoder) toClient(text string) (string, error) {
	if t.encode == nil {
		return text, nil
	}
	out, err := t.encode([]byte(text))
	return string(out), err
}

// columns converts the names of columns. A name that the client's encoding cannot
// express is sent as it is: the values are what matters.
func (t transcoder) columns(columns []planner.Column) []planner.Column {
	columns = slices.Clone(columns)
	for i := range columns {
		if name, err := t.toClient(columns[i].Name); err == nil {
			columns[i].Name = name
		}
	}
	return columns
}

// report converts what an error says.
func (t transcoder) report(e *pgerr.Error) *pgerr.Error {
	if t.encode == nil {
		return e
	}
	converted := *e
	for _, field := range []*string{&converted.Message, &converted.Detail, &converted.Hint} {
		if text, err := t.toClient(*field); err == nil {
			*field = text
		}
	}
	return &converted
}
