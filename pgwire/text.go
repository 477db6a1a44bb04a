package pgwire

import (
	"slices"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/pgwire/settings"
	"raisinproxy/planner"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// transcoder converts between the client's encoding and UTF-8, in which keys and
// statements are kept. The zero value converts nothing.
type transcoder struct {
	decode, encode func([]byte) ([]byte, error)
	// unsafe: calls are refused in this encoding. Its characters may hold quotes and
	// backslashes, or it is not known here.
	unsafe bool
}

func transcoderFor(encoding string) transcoder {
	decode, encode, known := settings.Encoding(encoding)
	return transcoder{decode, encode, !known || settings.MultibyteUnsafe(encoding)}
}

var errEncoding = pgerr.Newf(codes.FeatureNotSupported, "a raisin_ function cannot be called in this client_encoding").
	WithHint("Use UTF8, or an encoding in which quotes and backslashes are never part of another character.")

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

// value converts what a value says; any other value is its own.
func (t transcoder) value(v datum.Datum, convert func(string) (string, error)) (datum.Datum, error) {
	if t.encode == nil || v.Null || v.Str == "" {
		return v, nil
	}
	text, err := convert(v.Str)
	v.Str = text
	return v, err
}

func (t transcoder) valueToClient(v datum.Datum) (datum.Datum, error) { return t.value(v, t.toClient) }

func (t transcoder) valueFromClient(v datum.Datum) (datum.Datum, error) {
	return t.value(v, func(text string) (string, error) {
		out, err := t.decode([]byte(text))
		return string(out), err
	})
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
		*field = t.best(*field)
	}
	return &converted
}

// best is a text for a person: converted, or as it is if the encoding cannot express it.
func (t transcoder) best(text string) string {
	if converted, err := t.toClient(text); err == nil {
		return converted
	}
	return text
}
