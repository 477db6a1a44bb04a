package settings

import (
	"unicode/utf8"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/sqlfuncs/pgerr"
)

// A converter goes between one encoding and UTF-8, character by character.
type converter struct {
	name string
	// length is how many bytes the character that b starts with has, going by its first bytes.
	length func(b []byte) int
	// valid tells whether b, of that length, is formed as a character.
	valid func(b []byte) bool
	// newDecode and newEncode make functions for one text; those return none or nil for what has no equivalent.
	newDecode func() func(char []byte) rune
	newEncode func() func(dst []byte, r rune) []byte
}

// none is the absence of a character.
const none rune = -1

func (c converter) decode(text []byte) ([]byte, error) {
	ascii := asciiPrefix(text)
	if ascii == len(text) {
		return text, nil
	}
	decodeChar := c.newDecode()
	out := append(make([]byte, 0, len(text)+len(text)/2), text[:ascii]...)
	for rest := text[ascii:]; len(rest) > 0; {
		if isASCII(rest[0]) {
			out, rest = append(out, rest[0]), rest[1:]
			continue
		}
		n := 1
		if rest[0] != 0 {
			n = c.length(rest)
		}
		if rest[0] == 0 || n > len(rest) || !c.valid(rest[:n]) {
			return nil, invalidBytes(c.name, rest[:min(n, len(rest))])
		}
		r := decodeChar(rest[:n])
		if r == none {
			return nil, untranslatable(rest[:n], c.name, "UTF8")
		}
		out, rest = utf8.AppendRune(out, r), rest[n:]
	}
	return out, nil
}

func (c converter) encode(text []byte) ([]byte, error) {
	ascii := asciiPrefix(text)
	if ascii == len(text) {
		return text, nil
	}
	if err := ValidUTF8(text[ascii:]); err != nil {
		return nil, err
	}
	encodeChar := c.newEncode()
	out := append(make([]byte, 0, len(text)), text[:ascii]...)
	for rest := text[ascii:]; len(rest) > 0; {
		if isASCII(rest[0]) {
			out, rest = append(out, rest[0]), rest[1:]
			continue
		}
		r, n := utf8.DecodeRune(rest)
		before := len(out)
		if out = encodeChar(out, r); len(out) == before {
			return nil, untranslatable(rest[:n], "UTF8", c.name)
		}
		rest = rest[n:]
	}
	return out, nil
}

// ValidUTF8 is nil, or PostgreSQL's error for the first wrong sequence. A zero byte is one.
func ValidUTF8(text []byte) error {
	for rest := text[asciiPrefix(text):]; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		if r == 0 || r == utf8.RuneError && n == 1 {
			return pgerr.InvalidUTF8(rest)
		}
		rest = rest[n:]
		rest = rest[asciiPrefix(rest):]
	}
	return nil
}

// isASCII: text has no zero bytes.
func isASCII(c byte) bool { return c > 0 && c < 0x80 }

func asciiPrefix(text []byte) int {
	for i, c := range text {
		if !isASCII(c) {
			return i
		}
	}
	return len(text)
}

func invalidBytes(encoding string, char []byte) error {
	return pgerr.Newf(codes.CharacterNotInRepertoire,
		"invalid byte sequence for encoding \"%s\": % #x", encoding, char)
}

func untranslatable(char []byte, from, to string) error {
	return pgerr.Newf(codes.UntranslatableCharacter,
		"character with byte sequence % #x in encoding \"%s\" has no equivalent in encoding \"%s\"", char, from, to)
}
