package wiretest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// The messages that scripts write are, byte for byte, those of pgproto3.
func TestExtendedNotation(t *testing.T) {
	int4 := []byte{0, 0, 0, 42}
	tests := map[string]pgproto3.FrontendMessage{
		`P 'select 1'`:                        &pgproto3.Parse{Query: "select 1"},
		`P s1 'select ''a''' int8, text 23`:   &pgproto3.Parse{Name: "s1", Query: "select 'a'", ParameterOIDs: []uint32{20, 25, 23}},
		"P \"\" `select 1\n, 'x'` 0*3":        &pgproto3.Parse{Query: "select 1\n, 'x'", ParameterOIDs: []uint32{0, 0, 0}},
		`P "a\tb" "select \"x\""`:             &pgproto3.Parse{Name: "a\tb", Query: `select "x"`},
		`B`:                                   &pgproto3.Bind{},
		`B p1 s1`:                             &pgproto3.Bind{DestinationPortal: "p1", PreparedStatement: "s1"},
		`B "" s1 (-1, 'a b', NULL)`:           &pgproto3.Bind{PreparedStatement: "s1", Parameters: [][]byte{[]byte("-1"), []byte("a b"), nil}},
		`B (x, int4(42), x'00 00002a', "")`:   &pgproto3.Bind{Parameters: [][]byte{[]byte("x"), int4, int4, {}}, ParameterFormatCodes: []int16{0, 1, 1, 0}},
		`B (int4(42)) formats=(t) result=(b)`: &pgproto3.Bind{Parameters: [][]byte{int4}, ParameterFormatCodes: []int16{0}, ResultFormatCodes: []int16{1}},
		`B formats=(0,7) result=(1, t, b)`:    &pgproto3.Bind{ParameterFormatCodes: []int16{0, 7}, ResultFormatCodes: []int16{1, 0, 1}},
		`B (bool(t), int2(-1), jsonb("1"))`:   &pgproto3.Bind{Parameters: [][]byte{{1}, {255, 255}, {1, '1'}}, ParameterFormatCodes: []int16{1, 1, 1}},
		`D S`:                                 &pgproto3.Describe{ObjectType: 'S'},
		`D P p1`:                              &pgproto3.Describe{ObjectType: 'P', Name: "p1"},
		`C S "s 1"`:                           &pgproto3.Close{ObjectType: 'S', Name: "s 1"},
		`E`:                                   &pgproto3.Execute{},
		`E 2`:                                 &pgproto3.Execute{MaxRows: 2},
		`E "2"`:                               &pgproto3.Execute{Portal: "2"},
		`E p1 2`:                              &pgproto3.Execute{Portal: "p1", MaxRows: 2},
		`H`:                                   &pgproto3.Flush{},
		`S # and a comment; S`:                &pgproto3.Sync{},
		`X`:                                   &pgproto3.Terminate{},
		`Q 'select 1'`:                        &pgproto3.Query{String: "select 1"},
		`d "1\n"`:                             &pgproto3.CopyData{Data: []byte("1\n")},
		`c`:                                   &pgproto3.CopyDone{},
		`f "why"`:                             &pgproto3.CopyFail{Message: "why"},
	}
	for input, message := range tests {
		t.Run(input, func(t *testing.T) {
			frames, err := parseExtended(input)
			if err != nil {
				t.Fatal(err)
			}
			want, err := message.Encode(nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(frames) != 1 || !bytes.Equal(frames[0].bytes, want) {
				t.Errorf("got %d messages\n%q, want\n%q", len(frames), frames[0].bytes, want)
			}
		})
	}
}

func TestExtendedNotationOfSeveral(t *testing.T) {
	frames, err := parseExtended("P 'select 1;'; B\nD P; D S\n\n# a comment\nE;C P;S")
	if err != nil {
		t.Fatal(err)
	}
	kinds := ""
	for _, f := range frames {
		kinds += string(f.debt.kind)
	}
	if kinds != "PBpDECS" {
		t.Errorf("got %s", kinds)
	}
}

func TestExtendedNotationFaults(t *testing.T) {
	tests := map[string]string{
		`Y`:                       `no message "Y"`,
		`P`:                       `expected a name`,
		`P "select 1" nosuch`:     `no type "nosuch"`,
		`B p1`:                    `two names or none`,
		`B p1 (1)`:                `two names or none`,
		`B (1`:                    `expected`,
		`B (1*70000)`:             `16 bit`,
		`B (int2(70000))`:         `not a number in range`,
		`B (uuid(1))`:             `no helper`,
		`B wrong=(1)`:             `no option "wrong"`,
		`D X`:                     `S or P`,
		`E p1 2 3`:                `expected '\n'`,
		`P 'open`:                 `unterminated`,
		`P "bad \q"`:              `bad text`,
		`B (x'0')`:                `odd length`,
		`S S`:                     `expected '\n'`,
		`B "" s (1) result=(one)`: `bad format "one"`,
	}
	for input, want := range tests {
		t.Run(input, func(t *testing.T) {
			_, err := parseExtended(input)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
}

func TestFrameNotation(t *testing.T) {
	tests := map[string]string{
		`Q cstr("x")`:                          "Q\x00\x00\x00\x06x\x00",
		`Q len=3 "x"`:                          "Q\x00\x00\x00\x03x",
		`Q len=-1`:                             "Q\xff\xff\xff\xff",
		`y`:                                    "y\x00\x00\x00\x04",
		`x'00' byte(1)`:                        "\x00\x00\x00\x00\x05\x01",
		`startup int4(0x30000) cstr("a")`:      "\x00\x00\x00\x0a\x00\x03\x00\x00a\x00",
		`bytes x'0102' "a"*3`:                  "\x01\x02aaa",
		"S\nH int2(-1) int8(1)":                "S\x00\x00\x00\x04H\x00\x00\x00\x0e\xff\xff\x00\x00\x00\x00\x00\x00\x00\x01",
		`E cstr("") int4(-1); S # a comment; `: "E\x00\x00\x00\x09\x00\xff\xff\xff\xffS\x00\x00\x00\x04",
	}
	for input, want := range tests {
		t.Run(input, func(t *testing.T) {
			got, err := parseFrames(input)
			if err != nil || string(got) != want {
				t.Errorf("got %q, %v, want %q", got, err, want)
			}
		})
	}
	if _, err := parseFrames("start int4(1)"); err == nil {
		t.Error("a frame of an unknown kind is accepted")
	}
}
