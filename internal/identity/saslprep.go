package identity

import (
	"strings"
	"unicode/utf8"

	"github.com/xdg-go/stringprep"
	"golang.org/x/text/unicode/norm"
)

// saslprep gives the form of a password that is hashed: SASLprep (RFC 4013) as
// PostgreSQL's pg_saslprep does it, and, as there, the password unchanged where
// SASLprep refuses it. Every client does the same, so a difference in any
// character locks a user out.
//
// Two things differ from stringprep.SASLprep: U+200B, which is in both tables, is a
// space and is not dropped; and prohibited characters and mixed directions are
// looked for before the normalization, not after it.
func saslprep(password string) string {
	if isASCII(password) || !utf8.ValidString(password) {
		return password
	}
	mapped, err := beforeNormalization.Prepare(password)
	if err != nil || mapped == "" {
		return password
	}
	return norm.NFKC.String(mapped)
}

var beforeNormalization = func() stringprep.Profile {
	p := stringprep.SASLprep
	spaces := stringprep.Mapping{}
	for _, r := range "\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u200B\u202F\u205F\u3000" {
		spaces[r] = []rune{' '}
	}
	p.Mappings = []stringprep.Mapping{spaces, stringprep.TableB1}
	p.Normalize = false
	return p
}()

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}
