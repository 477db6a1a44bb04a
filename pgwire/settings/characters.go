package settings

import (
	"sync"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
)

// iso is a part of ISO 8859: PostgreSQL keeps its control characters from 0x80 to 0x9f.
func iso(name string, table *charmap.Charmap) func() converter {
	controls := make(map[byte]rune)
	for c := 0x80; c < 0xa0; c++ {
		controls[byte(c)] = rune(c)
	}
	return single(name, table, controls)
}

// single is an encoding of one byte a character; PostgreSQL differs from the table in the given ones.
func single(name string, table *charmap.Charmap, different map[byte]rune) func() converter {
	return sync.OnceValue(func() converter {
		var runes [256]rune
		bytes := make(map[rune]byte)
		for i := range runes {
			r := table.DecodeByte(byte(i))
			if r == utf8.RuneError {
				r = none
			}
			if d, ok := different[byte(i)]; ok {
				r = d
			}
			runes[i] = r
			bytes[r] = byte(i)
		}
		delete(bytes, none)
		decode := func(char []byte) rune { return runes[char[0]] }
		encode := func(dst []byte, r rune) []byte {
			if b, ok := bytes[r]; ok {
				return append(dst, b)
			}
			return dst
		}
		return converter{
			name:      name,
			length:    func([]byte) int { return 1 },
			valid:     func([]byte) bool { return true },
			newDecode: func() func([]byte) rune { return decode },
			newEncode: func() func([]byte, rune) []byte { return encode },
		}
	})
}

// different says where PostgreSQL differs from the table of a two-byte encoding.
type different struct {
	// chars replace what the table says; none removes it.
	chars map[uint16]rune
	// outside removes what the table has beyond the encoding.
	outside func(char uint16) bool
	// private are rows of user-defined characters: their lead byte, and the first one.
	private map[byte]rune
}

// The table for EUC_CN is GBK's, for EUC_KR it is UHC's.
var (
	eucCN = &different{chars: map[uint16]rune{0xa1a4: '・', 0xa1aa: '―'}, outside: func(c uint16) bool {
		return !eucPair(c) || c >= 0xa2a1 && c <= 0xa2aa || c == 0xa2e3 || c >= 0xa6e0 && c <= 0xa6f5 || c >= 0xa8bb && c <= 0xa8c0
	}}
	eucKR = &different{chars: map[uint16]rune{0xa2e8: '㉾'}, outside: func(c uint16) bool { return !eucPair(c) }}
	uhc   = &different{chars: map[uint16]rune{0xa2e8: '㉾'}, private: map[byte]rune{0xc9: 0xe000, 0xfe: 0xe05e}}
)

func eucPair(c uint16) bool { return euc(byte(c>>8)) && euc(byte(c)) }

// multiByte is an encoding of up to four bytes a character.
func multiByte(name string, table encoding.Encoding, d *different) func() converter {
	return sync.OnceValue(func() converter {
		form := forms[name]
		c := converter{name: name, length: form.length, valid: form.valid}
		c.newDecode = func() func([]byte) rune { return tableDecoder(table) }
		c.newEncode = func() func([]byte, rune) []byte { return tableEncoder(table) }
		if d != nil {
			c.newDecode, c.newEncode = d.apply(c)
		}
		return c
	})
}

func tableDecoder(table encoding.Encoding) func([]byte) rune {
	decoder := table.NewDecoder()
	var dst [16]byte
	return func(char []byte) rune {
		decoder.Reset()
		n, _, err := decoder.Transform(dst[:], char, true)
		r, size := utf8.DecodeRune(dst[:n])
		if err != nil || size != n || r == utf8.RuneError {
			return none
		}
		return r
	}
}

func tableEncoder(table encoding.Encoding) func([]byte, rune) []byte {
	encoder := table.NewEncoder()
	var src, to [16]byte
	return func(dst []byte, r rune) []byte {
		encoder.Reset()
		n, _, err := encoder.Transform(to[:], src[:utf8.EncodeRune(src[:], r)], true)
		if err != nil || n == 1 && to[0] == 0x80 { // the euro sign of web pages
			return dst
		}
		return append(dst, to[:n]...)
	}
}

// apply puts the differences before the table that c has so far.
func (d *different) apply(c converter) (newDecode func() func([]byte) rune, newEncode func() func([]byte, rune) []byte) {
	chars := make(map[rune]uint16)
	for char, r := range d.chars {
		chars[r] = char
	}
	newDecode = func() func([]byte) rune {
		next := c.newDecode()
		return func(char []byte) rune {
			pair := uint16(char[0])<<8 | uint16(char[len(char)-1])
			if r, ok := d.chars[pair]; ok {
				return r
			}
			if first, ok := d.private[char[0]]; ok && eucPair(pair) {
				return first + rune(pair&0xff) - 0xa1
			}
			if d.outside != nil && d.outside(pair) {
				return none
			}
			return next(char)
		}
	}
	newEncode = func() func([]byte, rune) []byte {
		next := c.newEncode()
		return func(dst []byte, r rune) []byte {
			if char, ok := chars[r]; ok {
				return append(dst, byte(char>>8), byte(char))
			}
			for lead, first := range d.private {
				if r >= first && r < first+94 {
					return append(dst, lead, byte(0xa1+r-first))
				}
			}
			out := next(dst, r)
			if char := out[len(dst):]; len(char) == 2 {
				pair := uint16(char[0])<<8 | uint16(char[1])
				if _, replaced := d.chars[pair]; replaced || d.outside != nil && d.outside(pair) {
					return dst
				}
			}
			return out
		}
	}
	return newDecode, newEncode
}

// A form is how the characters of an encoding are put together (PostgreSQL's src/common/wchar.c).
type form struct {
	length func([]byte) int
	valid  func([]byte) bool
}

var forms = map[string]form{
	"EUC_JP": {
		func(b []byte) int {
			if b[0] == 0x8f {
				return 3
			}
			return 2
		},
		func(b []byte) bool {
			if b[0] == 0x8e {
				return b[1] >= 0xa1 && b[1] <= 0xdf
			}
			return (b[0] == 0x8f || euc(b[0])) && euc(b[1]) && euc(b[len(b)-1])
		},
	},
	"EUC_CN": {two, func(b []byte) bool { return euc(b[0]) && euc(b[1]) }},
	"EUC_KR": {two, func(b []byte) bool { return euc(b[0]) && euc(b[1]) }},
	"BIG5":   {two, func(b []byte) bool { return b[1] != 0 }},
	"GBK":    {two, func(b []byte) bool { return b[1] != 0 }},
	"UHC":    {two, func(b []byte) bool { return b[1] != 0 }},
	"SJIS": {
		func(b []byte) int {
			if b[0] >= 0xa1 && b[0] <= 0xdf { // half-width katakana
				return 1
			}
			return 2
		},
		func(b []byte) bool {
			lead := b[0] >= 0x81 && b[0] <= 0x9f || b[0] >= 0xe0 && b[0] <= 0xfc
			return len(b) == 1 || lead && (b[1] >= 0x40 && b[1] <= 0x7e || b[1] >= 0x80 && b[1] <= 0xfc)
		},
	},
	"GB18030": {
		func(b []byte) int {
			if len(b) > 1 && b[1] >= 0x30 && b[1] <= 0x39 {
				return 4
			}
			return 2
		},
		func(b []byte) bool {
			lead := b[0] >= 0x81 && b[0] <= 0xfe
			if len(b) == 4 {
				return lead && b[2] >= 0x81 && b[2] <= 0xfe && b[3] >= 0x30 && b[3] <= 0x39
			}
			return lead && (b[1] >= 0x40 && b[1] <= 0x7e || b[1] >= 0x80 && b[1] <= 0xfe)
		},
	},
}

func two([]byte) int { return 2 }

func euc(c byte) bool { return c >= 0xa1 && c <= 0xfe }
