package datum

import (
	"bytes"
	"testing"
	"time"

	"raisinproxy/sqlfuncs/pgerr"
)

// The expectations of these tests were read off PostgreSQL 15.

func TestParse(t *testing.T) {
	for _, test := range []struct {
		t    Type
		in   string
		want string // text form, or the SQLSTATE
	}{
		{Int8, " 42 ", "42"}, {Int8, "-9223372036854775808", "-9223372036854775808"}, {Int8, "+7", "7"},
		{Int8, "9223372036854775808", "22003"}, {Int8, "1.5", "22P02"}, {Int8, "", "22P02"}, {Int8, "-", "22P02"}, {Int8, "0x1F", "22P02"}, {Int8, "1_000", "22P02"},
		{Int4, "2147483648", "22003"}, {Int2, "-32769", "22003"}, {Int2, "007", "7"},
		{OID, "4294967295", "4294967295"}, {OID, "-1", "4294967295"}, {OID, "4294967296", "22003"}, {OID, "x", "22P02"},
		{Bool, " TRUE ", "t"}, {Bool, "tr", "t"}, {Bool, "y", "t"}, {Bool, "on", "t"}, {Bool, "off", "f"}, {Bool, "of", "f"}, {Bool, "o", "22P02"}, {Bool, "0", "f"}, {Bool, "2", "22P02"}, {Bool, "truee", "22P02"},
		{Text, "  x ", "  x "}, {Name, "a23456789012345678901234567890123456789012345678901234567890123456", "a23456789012345678901234567890123456789012345678901234567890123"},
		{Name, "a2345678901234567890123456789012345678901234567890123456789012é", "a2345678901234567890123456789012345678901234567890123456789012"},
		{Numeric, " 1.50 ", "1.50"}, {Numeric, "-.5", "-0.5"}, {Numeric, "1e3", "1000"}, {Numeric, "1.25e1", "12.5"}, {Numeric, "5E-3", "0.005"}, {Numeric, "-0.0", "0.0"}, {Numeric, "0012.", "12"}, {Numeric, "1.2.3", "22P02"}, {Numeric, "e5", "22P02"}, {Numeric, "1e", "22P02"},
		{UUID, "A0EEBC99-9c0b-4ef8-bb6d-6bb9bd380a11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}, {UUID, "{a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11}", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}, {UUID, "a0eebc999c0b4ef8bb6d6bb9bd380a11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}, {UUID, "a0eebc999c0b4ef8bb6d6bb9bd380a1", "22P02"}, {UUID, "a-0eebc999c0b4ef8bb6d6bb9bd380a11", "22P02"}, {UUID, "{a0eebc999c0b4ef8bb6d6bb9bd380a11", "22P02"},
		{Date, "2026-01-01", "0A000"},
	} {
		d, err := Parse(test.t, test.in)
		got := string(AppendText(nil, test.t, d, nil))
		if err != nil {
			got = string(pgerr.From(err).Code)
		}
		if got != test.want {
			t.Errorf("%s %q: got %q, want %q", test.t, test.in, got, test.want)
		}
	}
}

func TestBinary(t *testing.T) {
	for _, test := range []struct {
		t    Type
		d    Datum
		want []byte
	}{
		{Bool, OfBool(true), []byte{1}},
		{Int2, OfInt(-2), []byte{0xFF, 0xFE}},
		{Int4, OfInt(42), []byte{0, 0, 0, 42}},
		{Int8, OfInt(-1), bytes.Repeat([]byte{0xFF}, 8)},
		{OID, OfInt(1 << 31), []byte{0x80, 0, 0, 0}},
		{Text, OfText("é"), []byte("é")},
		{JSONB, OfText("{}"), []byte("\x01{}")},
		{Numeric, OfText("1.5"), []byte{0, 2, 0, 0, 0, 0, 0, 1, 0, 1, 0x13, 0x88}},
		{Numeric, OfText("-12345.678"), []byte{0, 3, 0, 1, 0x40, 0, 0, 3, 0, 1, 9, 0x29, 0x1a, 0x7c}},
		{Numeric, OfText("0.0"), []byte{0, 0, 0, 0, 0, 0, 0, 1}},
		{Timestamptz, OfTime(time.Date(2000, 1, 1, 0, 0, 1, 0, time.UTC)), []byte{0, 0, 0, 0, 0, 0x0F, 0x42, 0x40}},
		{UUID, OfText("00112233-4455-6677-8899-aabbccddeeff"), []byte{0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff}},
		{TextArray, OfText(`{a,"b c"}`), []byte("\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x19\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00\x01a\x00\x00\x00\x03b c")},
	} {
		got, err := AppendBinary(nil, test.t, test.d)
		if err != nil || !bytes.Equal(got, test.want) {
			t.Errorf("%s %v: got % x %v, want % x", test.t, test.d, got, err, test.want)
		}
		if !Supported(test.t) || test.t == Numeric {
			continue
		}
		if back, err := ParseBinary(test.t, got, 1); err != nil || back != test.d {
			t.Errorf("%s: read back as %v %v, want %v", test.t, back, err, test.d)
		}
	}
}

// TestBinaryLengths: too short is a protocol violation, too long a bad
// representation.
func TestBinaryLengths(t *testing.T) {
	for _, test := range []struct {
		t    Type
		n    int
		want string
	}{
		{Int8, 4, "08P01"}, {Int8, 9, "22P03"}, {Int4, 0, "08P01"}, {Int2, 3, "22P03"}, {Bool, 0, "08P01"}, {Bool, 2, "22P03"}, {Numeric, 8, "0A000"},
	} {
		_, err := ParseBinary(test.t, make([]byte, test.n), 1)
		if err == nil || string(pgerr.From(err).Code) != test.want {
			t.Errorf("%s of %d bytes: got %v, want %s", test.t, test.n, err, test.want)
		}
	}
}

func TestTimestampZones(t *testing.T) {
	d := OfTime(time.Date(2026, 11, 29, 12, 0, 0, 120000000, time.UTC))
	for zone, want := range map[string]string{
		"UTC":          "2026-11-29 12:00:00.12+00",
		"Asia/Kolkata": "2026-11-29 17:30:00.12+05:30",
		"America/Lima": "2026-11-29 07:00:00.12-05",
	} {
		location, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(AppendText(nil, Timestamptz, d, &TimeForm{Zone: location})); got != want {
			t.Errorf("%s: got %s, want %s", zone, got, want)
		}
	}
}

// TestDateStyles is what PostgreSQL 15 prints.
func TestDateStyles(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	kathmandu, err := time.LoadLocation("Asia/Kathmandu")
	if err != nil {
		t.Fatal(err)
	}
	d := OfTime(time.Date(2026, 7, 3, 12, 5, 0, 500000000, time.UTC))
	for _, test := range []struct {
		style, want string
		zone        *time.Location
	}{
		{"ISO, MDY", "2026-07-03 14:05:00.5+02", berlin},
		{"SQL, MDY", "07/03/2026 14:05:00.5 CEST", berlin},
		{"SQL, DMY", "03/07/2026 14:05:00.5 CEST", berlin},
		{"SQL, YMD", "07/03/2026 14:05:00.5 CEST", berlin},
		{"German, DMY", "03.07.2026 14:05:00.5 CEST", berlin},
		{"Postgres, MDY", "Fri Jul 03 14:05:00.5 2026 CEST", berlin},
		{"Postgres, DMY", "Fri 03 Jul 14:05:00.5 2026 CEST", berlin},
		{"Postgres, MDY", "Fri Jul 03 17:50:00.5 2026 +0545", kathmandu},
		{"SQL, MDY", "07/03/2026 12:05:00.5 UTC", time.UTC},
	} {
		form := NewTimeForm(test.zone, test.style)
		if got := string(AppendText(nil, Timestamptz, d, &form)); got != test.want {
			t.Errorf("%s: %s, want %s", test.style, got, test.want)
		}
	}
}
