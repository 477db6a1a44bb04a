package pgerr

import "testing"

// The messages are PostgreSQL's: `select convert_from('\xc3'::bytea, 'UTF8')` and so on.
func TestInvalidUTF8(t *testing.T) {
	for rest, want := range map[string]string{
		"\x00":                 `invalid byte sequence for encoding "UTF8": 0x00`,
		"\xff\xff":             `invalid byte sequence for encoding "UTF8": 0xff`,
		"\xc3":                 `invalid byte sequence for encoding "UTF8": 0xc3`,
		"\xc3(rest":            `invalid byte sequence for encoding "UTF8": 0xc3 0x28`,
		"\xe2\x28\xa1":         `invalid byte sequence for encoding "UTF8": 0xe2 0x28 0xa1`,
		"\xf0\x28\x8c\xbcabcd": `invalid byte sequence for encoding "UTF8": 0xf0 0x28 0x8c 0xbc`,
	} {
		for _, e := range []*Error{InvalidUTF8(rest), InvalidUTF8([]byte(rest))} {
			if e.Message != want || e.Code != "22021" {
				t.Errorf("%q: %v, want %s (22021)", rest, e, want)
			}
		}
	}
}
