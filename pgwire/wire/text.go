package wire

import (
	"slices"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/pgwire/settings"
	"raisinproxy/planner/plan"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// Transcoder converts between the client's encoding and UTF-8, in which keys and
// statements are kept. The zero value converts nothing.
type Transcoder struct {
	decode, encode func([]byte) ([]byte, error)
	// Unsafe: calls are refused in this encoding. Its characters may hold quotes and
	// backslashes, or it is not known here.
	Unsafe bool
}

// TranscoderFor converts what is sent in an encoding of PostgreSQL's, by its name.
func TranscoderFor(encoding string) Transcoder {
	decode, encode, known := settings.Encoding(encoding)
	return Transcoder{decode, encode, !known || settings.MultibyteUnsafe(encoding)}
}

// ErrEncoding refuses a call in an encoding that is not safe for it.
var ErrEncoding = pgerr.Newf(codes.FeatureNotSupported, "a raisin_ function cannot be called in this client_encoding").
	WithHint("Use UTF8, or an encoding in which quotes and backslashes are never part of another character.")

// Converts says whether texts change at all.
func (t Transcoder) Converts() bool { return t.encode != nil }

// FromClient converts what a client has sent to UTF-8.
func (t Transcoder) FromClient(text []byte) ([]byte, error) {
	if t.decode == nil {
		return text, nil
	}
	return t.decode(text)
}

// ToClient converts a text to what a client is sent. The error says which character its encoding
// cannot express.
func (t Transcoder) ToClient(text string) (string, error) {
	if t.encode == nil {
		return text, nil
	}
	out, err := t.encode([]byte(text))
	return string(out), err
}

// ValueToClient converts what a value says.
func (t Transcoder) ValueToClient(v datum.Datum) (datum.Datum, error) {
	if t.encode == nil || v.Null || v.Str == "" {
		return v, nil
	}
	var err error
	v.Str, err = t.ToClient(v.Str)
	return v, err
}

// Columns converts the names of columns. A name that the client's encoding cannot
// express is sent as it is: the values are what matters.
func (t Transcoder) Columns(columns []plan.Column) []plan.Column {
	columns = slices.Clone(columns)
	for i := range columns {
		columns[i].Name = t.Best(columns[i].Name)
	}
	return columns
}

// Report converts what an error says.
func (t Transcoder) Report(e *pgerr.Error) *pgerr.Error {
	if t.encode == nil {
		return e
	}
	converted := *e
	for _, field := range []*string{&converted.Message, &converted.Detail, &converted.Hint} {
		*field = t.Best(*field)
	}
	return &converted
}

// Best is a text for a person: converted, or as it is if the encoding cannot express it.
func (t Transcoder) Best(text string) string {
	if converted, err := t.ToClient(text); err == nil {
		return converted
	}
	return text
}
