package pgerr

import "github.com/jeroenrinzema/psql-wire/codes"

// InvalidUTF8 is the error for a text that does not go on with a character: rest begins
// with the wrong byte, and is not empty. As in PostgreSQL it shows as many bytes as the
// first one promises (report_invalid_encoding).
func InvalidUTF8[T string | []byte](rest T) *Error {
	return Newf(codes.CharacterNotInRepertoire, `invalid byte sequence for encoding "UTF8": % #x`,
		rest[:min(promised(rest[0]), len(rest))])
}

// promised is how long a character is that begins with this byte (pg_utf_mblen).
func promised(first byte) int {
	switch {
	case first&0xe0 == 0xc0:
		return 2
	case first&0xf0 == 0xe0:
		return 3
	case first&0xf8 == 0xf0:
		return 4
	}
	return 1
}
