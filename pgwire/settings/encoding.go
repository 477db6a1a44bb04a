package settings

import (
	"strings"
	"sync"

	"github.com/jeroenrinzema/psql-wire/codes"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"

	"raisinproxy/sqlfuncs/pgerr"
)

// Encoding returns the functions from a client's encoding to UTF-8 and back. The
// name is any that PostgreSQL knows; ok is false for one that is unknown or not supported.
// For UTF8 and SQL_ASCII both functions are nil: the bytes pass as they are, to be checked with [ValidUTF8].
// Text of ASCII only is returned itself, not copied. Errors are 22021 for bytes that
// are no text in their encoding and 22P05 for a character that the other one lacks.
//
// Which characters correspond is as in PostgreSQL, of the single-byte encodings, EUC_CN, EUC_KR
// and UHC exactly; of EUC_JP, SJIS, BIG5, GBK and GB18030 except for vendor extensions and user-defined characters.
func Encoding(name string) (decode, encode func([]byte) ([]byte, error), ok bool) {
	c := findCharset(name)
	if c == nil || !c.supported() {
		return nil, nil, false
	}
	if c.transparent {
		return nil, nil, true
	}
	t := c.table()
	return t.decode, t.encode, true
}

// MultibyteUnsafe tells that in this encoding an ASCII byte, a quote or a backslash
// too, may be part of a character, so that a statement must be converted before anything looks at it.
func MultibyteUnsafe(name string) bool {
	c := findCharset(name)
	return c != nil && c.unsafe
}

// checkEncoding keeps the spelling UNICODE, which old JDBC drivers expect to read back.
func checkEncoding(s *Set, p *parameter, v string) (string, error) {
	c := findCharset(v)
	switch {
	case c == nil:
		return "", invalid(p.name, v)
	case c.supported():
		if v == "UNICODE" {
			return v, nil
		}
		return c.name, nil
	case s.starting:
		return "", pgerr.Newf(codes.FeatureNotSupported, "conversion between %s and UTF8 is not supported", c.name)
	}
	err := invalid(p.name, v).WithDetail("Conversion between %s and UTF8 is not supported.", c.name)
	err.Code = codes.FeatureNotSupported
	return "", err
}

// canonicalEncoding is PostgreSQL's name of a known encoding.
func canonicalEncoding(name string) string {
	if c := findCharset(name); c != nil {
		return c.name
	}
	return "UTF8"
}

// A charset is one of PostgreSQL's encodings.
type charset struct {
	name    string
	aliases string // separated by spaces; cleaned, as cleanEncoding does
	unsafe  bool
	// transparent: nothing to convert. Otherwise table makes the conversion, once; nil: not supported.
	transparent bool
	table       func() converter
}

func (c *charset) supported() bool { return c.transparent || c.table != nil }

// https://www.postgresql.org/docs/14/multibyte.html#MULTIBYTE-CHARSET-SUPPORTED, with the aliases of
// src/common/encnames.c.
var charsets = []charset{
	{name: "BIG5", aliases: "win950 windows950", unsafe: true, table: multiByte("BIG5", traditionalchinese.Big5, nil)},
	{name: "EUC_CN", table: multiByte("EUC_CN", simplifiedchinese.GBK, eucCN)},
	{name: "EUC_JP", table: multiByte("EUC_JP", japanese.EUCJP, nil)},
	{name: "EUC_JIS_2004"},
	{name: "EUC_KR", table: multiByte("EUC_KR", korean.EUCKR, eucKR)},
	{name: "EUC_TW"},
	{name: "GB18030", unsafe: true, table: multiByte("GB18030", simplifiedchinese.GB18030, nil)},
	{name: "GBK", aliases: "win936 windows936", unsafe: true, table: multiByte("GBK", simplifiedchinese.GBK, nil)},
	{name: "ISO_8859_5", aliases: "iso88595", table: iso("ISO_8859_5", charmap.ISO8859_5)},
	{name: "ISO_8859_6", aliases: "iso88596", table: iso("ISO_8859_6", charmap.ISO8859_6)},
	{name: "ISO_8859_7", aliases: "iso88597", table: iso("ISO_8859_7", charmap.ISO8859_7)},
	{name: "ISO_8859_8", aliases: "iso88598", table: iso("ISO_8859_8", charmap.ISO8859_8)},
	{name: "JOHAB", unsafe: true},
	{name: "KOI8R", aliases: "koi8", table: single("KOI8R", charmap.KOI8R, nil)},
	{name: "KOI8U", table: single("KOI8U", charmap.KOI8U, map[byte]rune{0xae: '╝', 0xbe: '╬'})},
	{name: "LATIN1", aliases: "iso88591", table: iso("LATIN1", charmap.ISO8859_1)},
	{name: "LATIN2", aliases: "iso88592", table: iso("LATIN2", charmap.ISO8859_2)},
	{name: "LATIN3", aliases: "iso88593", table: iso("LATIN3", charmap.ISO8859_3)},
	{name: "LATIN4", aliases: "iso88594", table: iso("LATIN4", charmap.ISO8859_4)},
	{name: "LATIN5", aliases: "iso88599", table: iso("LATIN5", charmap.ISO8859_9)},
	{name: "LATIN6", aliases: "iso885910", table: iso("LATIN6", charmap.ISO8859_10)},
	{name: "LATIN7", aliases: "iso885913", table: iso("LATIN7", charmap.ISO8859_13)},
	{name: "LATIN8", aliases: "iso885914", table: iso("LATIN8", charmap.ISO8859_14)},
	{name: "LATIN9", aliases: "iso885915", table: iso("LATIN9", charmap.ISO8859_15)},
	{name: "LATIN10", aliases: "iso885916", table: iso("LATIN10", charmap.ISO8859_16)},
	{name: "MULE_INTERNAL"},
	{name: "SHIFT_JIS_2004", unsafe: true},
	{name: "SJIS", aliases: "mskanji shiftjis win932 windows932", unsafe: true, table: multiByte("SJIS", japanese.ShiftJIS, nil)},
	{name: "SQL_ASCII", transparent: true},
	{name: "UHC", aliases: "win949 windows949", unsafe: true, table: multiByte("UHC", korean.EUCKR, uhc)},
	{name: "UTF8", aliases: "unicode", transparent: true},
	{name: "WIN866", aliases: "alt windows866", table: single("WIN866", charmap.CodePage866, nil)},
	{name: "WIN874", aliases: "windows874", table: single("WIN874", charmap.Windows874, nil)},
	{name: "WIN1250", aliases: "windows1250", table: single("WIN1250", charmap.Windows1250, nil)},
	{name: "WIN1251", aliases: "win windows1251", table: single("WIN1251", charmap.Windows1251, nil)},
	{name: "WIN1252", aliases: "windows1252", table: single("WIN1252", charmap.Windows1252, nil)},
	{name: "WIN1253", aliases: "windows1253", table: single("WIN1253", charmap.Windows1253, nil)},
	{name: "WIN1254", aliases: "windows1254", table: single("WIN1254", charmap.Windows1254, nil)},
	{name: "WIN1255", aliases: "windows1255", table: single("WIN1255", charmap.Windows1255, map[byte]rune{0xca: none})},
	{name: "WIN1256", aliases: "windows1256", table: single("WIN1256", charmap.Windows1256, nil)},
	{name: "WIN1257", aliases: "windows1257", table: single("WIN1257", charmap.Windows1257, nil)},
	{name: "WIN1258", aliases: "abc tcvn tcvn5712 vscii windows1258", table: single("WIN1258", charmap.Windows1258, nil)},
}

var charsetNames = sync.OnceValue(func() map[string]*charset {
	names := make(map[string]*charset)
	for i := range charsets {
		c := &charsets[i]
		names[cleanEncoding(c.name)] = c
		for alias := range strings.FieldsSeq(c.aliases) {
			names[alias] = c
		}
	}
	return names
})

// findCharset is nil for an unknown name.
func findCharset(name string) *charset {
	if len(name) > maxName {
		return nil
	}
	return charsetNames()[cleanEncoding(name)]
}

// cleanEncoding: only letters and digits count, and not their case.
func cleanEncoding(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, fold(name))
}
