package settings

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// testdata/encodings.tsv says how it was taken from PostgreSQL.
func TestCharactersAsPostgreSQL(t *testing.T) {
	for _, line := range dataLines(t, "testdata/encodings.tsv") {
		name, rest, _ := strings.Cut(line, "\t")
		want := strings.Fields(rest)
		decode, encode, ok := Encoding(name)
		switch {
		case !ok:
			t.Errorf("%s is not supported", name)
		case len(want) == 128:
			testSingleByte(t, name, want, decode, encode)
		default:
			testPairs(t, name, want[0], decode)
			testRepertoire(t, name, want[1], encode)
		}
	}
}

type conversion = func([]byte) ([]byte, error)

func testSingleByte(t *testing.T, name string, want []string, decode, encode conversion) {
	back := make(map[rune]byte)
	for i, word := range want {
		b := byte(0x80 + i)
		got, err := decode([]byte{b})
		if word == "-" {
			if err == nil {
				t.Errorf("%s 0x%02x is %q, want none", name, b, got)
			}
			continue
		}
		r, _ := strconv.ParseInt(word, 16, 32)
		if err != nil || string(got) != string(rune(r)) {
			t.Errorf("%s 0x%02x is %q (%v), want %q", name, b, got, err, rune(r))
		}
		back[rune(r)] = b
	}
	for r := rune(0x80); r < 0x3000; r++ { // none of them has a character beyond
		got, err := encode([]byte(string(r)))
		b, has := back[r]
		if has != (err == nil) || has && !bytes.Equal(got, []byte{b}) {
			t.Errorf("%s %q is % x (%v)", name, r, got, err)
		}
	}
}

func testPairs(t *testing.T, name, want string, decode conversion) {
	sum := sha256.New()
	for lead := 0x80; lead <= 0xff; lead++ {
		for trail := 0x31; trail <= 0xff; trail++ {
			if got, err := decode([]byte{byte(lead), byte(trail)}); err == nil {
				r, _ := utf8.DecodeRune(got)
				_, _ = fmt.Fprintf(sum, "%02x%02x %x\n", lead, trail, r)
			}
		}
	}
	compareSum(t, name+" to UTF8", sum, want)
}

func testRepertoire(t *testing.T, name, want string, encode conversion) {
	sum := sha256.New()
	for r := rune(1); r <= 0xffff; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		if got, err := encode([]byte(string(r))); err == nil {
			_, _ = fmt.Fprintf(sum, "%x %x\n", r, got)
		}
	}
	compareSum(t, "UTF8 to "+name, sum, want)
}

func compareSum(t *testing.T, what string, sum hash.Hash, want string) {
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		t.Errorf("%s: not PostgreSQL's characters", what)
	}
}

// The messages are those of convert_from and convert_to on PostgreSQL 15.18.
func TestConversionErrorsAsPostgreSQL(t *testing.T) {
	invalid := `! 22021 "invalid byte sequence for encoding \"%s\": %s"`
	tests := []struct{ encoding, text, want string }{
		{"EUC_JP", "a\xa1", fmt.Sprintf(invalid, "EUC_JP", "0xa1")},
		{"EUC_JP", "\xa1 ", fmt.Sprintf(invalid, "EUC_JP", "0xa1 0x20")},
		{"EUC_JP", "\x8f\xa1", fmt.Sprintf(invalid, "EUC_JP", "0x8f 0xa1")},
		{"EUC_JP", "\x8e\xa0", fmt.Sprintf(invalid, "EUC_JP", "0x8e 0xa0")},
		{"EUC_JP", "a\x00b", fmt.Sprintf(invalid, "EUC_JP", "0x00")},
		{"LATIN1", "\x00", fmt.Sprintf(invalid, "LATIN1", "0x00")},
		{"EUC_CN", "\x81\x40", fmt.Sprintf(invalid, "EUC_CN", "0x81 0x40")},
		{"SJIS", "\x81", fmt.Sprintf(invalid, "SJIS", "0x81")},
		{"SJIS", "\x81 ", fmt.Sprintf(invalid, "SJIS", "0x81 0x20")},
		{"SJIS", "\x80", fmt.Sprintf(invalid, "SJIS", "0x80")},
		{"BIG5", "\xff", fmt.Sprintf(invalid, "BIG5", "0xff")},
		{"BIG5", "\x81\x00", fmt.Sprintf(invalid, "BIG5", "0x81 0x00")},
		{"GB18030", "\x81\x30\x81", fmt.Sprintf(invalid, "GB18030", "0x81 0x30 0x81")},
		{"GB18030", "\xff\xff", fmt.Sprintf(invalid, "GB18030", "0xff 0xff")},
		{"EUC_CN", "\xa9\xa1", `! 22P05 "character with byte sequence 0xa9 0xa1 in encoding \"EUC_CN\" has no equivalent in encoding \"UTF8\""`},
		{"WIN1252", "\x81", `! 22P05 "character with byte sequence 0x81 in encoding \"WIN1252\" has no equivalent in encoding \"UTF8\""`},
	}
	for _, test := range tests {
		decode, _, _ := Encoding(test.encoding)
		if _, err := decode([]byte(test.text)); render(err) != test.want {
			t.Errorf("%s %q\n got %s\nwant %s", test.encoding, test.text, render(err), test.want)
		}
	}
	_, encode, _ := Encoding("LATIN1")
	want := `! 22P05 "character with byte sequence 0xe2 0x82 0xac in encoding \"UTF8\" has no equivalent in encoding \"LATIN1\""`
	if _, err := encode([]byte("aé€")); render(err) != want {
		t.Errorf("%s", render(err))
	}
	for text, sequence := range map[string]string{
		"\xe2\x810": "0xe2 0x81 0x30", "\xff": "0xff", "a\xe2\x82": "0xe2 0x82", "é\xc0\x80": "0xc0 0x80",
		"\xed\xa0\x80": "0xed 0xa0 0x80", "\xf4\x90\x80\x80": "0xf4 0x90 0x80 0x80", "\xf8\xa0\xa0\xa0\xa0": "0xf8", "a\x00": "0x00",
	} {
		if got := render(ValidUTF8([]byte(text))); got != fmt.Sprintf(invalid, "UTF8", sequence) {
			t.Errorf("%q: %s", text, got)
		}
	}
	if err := ValidUTF8([]byte("aé€😀\ufffd")); err != nil {
		t.Error(err)
	}
}

// From convert_to on PostgreSQL 15.18.
func TestMultiByteText(t *testing.T) {
	for _, test := range []struct{ encoding, text, want string }{
		{"EUC_JP", "あいう", "a4a2a4a4a4a6"}, {"EUC_JP", "丂", "8fb0a1"}, {"SJIS", "ｱ亜", "b1889f"}, {"BIG5", "中文字", "a4a4a4e5a672"},
		{"GBK", "中文字", "d6d0cec4d7d6"}, {"EUC_KR", "한글", "c7d1b1db"}, {"GB18030", "a😀", "619439fc36"},
	} {
		decode, encode, _ := Encoding(test.encoding)
		got, err := encode([]byte(test.text))
		if hex.EncodeToString(got) != test.want {
			t.Errorf("%s %s: %x (%v), want %s", test.encoding, test.text, got, err, test.want)
		}
		if back, err := decode(got); string(back) != test.text {
			t.Errorf("%s %x: %s (%v), want %s", test.encoding, got, back, err, test.text)
		}
	}
}

func TestEncodingNames(t *testing.T) {
	for _, name := range []string{"UTF8", "utf-8", "unicode", "SQL_ASCII"} {
		if decode, encode, ok := Encoding(name); !ok || decode != nil || encode != nil {
			t.Errorf("%s is not passed as it is", name)
		}
	}
	for _, name := range []string{"JOHAB", "EUC_TW", "MULE_INTERNAL", "nonsense", ""} {
		if _, _, ok := Encoding(name); ok {
			t.Errorf("%s is supported", name)
		}
	}
	for name, want := range map[string]bool{"sjis": true, "GB18030": true, "johab": true, "EUC_JP": false, "UTF8": false, "x": false} {
		if MultibyteUnsafe(name) != want {
			t.Errorf("MultibyteUnsafe(%s) is not %v", name, want)
		}
	}
	ascii := []byte("select 1")
	decode, encode, _ := Encoding("WIN1251")
	for _, f := range []conversion{decode, encode} {
		if out, _ := f(ascii); &out[0] != &ascii[0] {
			t.Error("ASCII was copied")
		}
	}
}
