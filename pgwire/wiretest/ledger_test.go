package wiretest

import (
	"strings"
	"testing"
)

// TestLedger plays what a server sends against what a client has sent. An answer is
// written as message types: T and D have one column, t one parameter, E is an ERROR
// and F a FATAL one.
func TestLedger(t *testing.T) {
	tests := []struct {
		sent, answered string
		want           string // part of the fault; "": all is well
		owed           int    // messages still unanswered
	}{
		{`Q "x"`, "TDDCZ", "", 0},
		{`Q "x"`, "CTDCTCCZ", "", 0},
		{`Q "x"`, "TDNCSZ", "", 0},
		{`Q "x"`, "IZ", "", 0},
		{`Q "x"`, "EZ", "", 0},
		{`Q "x"`, "TDEZ", "", 0},
		{`Q "x"`, "CTDC", "", 1},
		{`Q "x"`, "Gc", "'c' out of place", 0},
		{`Q "x"`, "GCZ", "", 0},
		{`Q "x"`, "GEZ", "", 0},
		{`Q "x"`, "HddcCTDCZ", "", 0},
		{`Q "x"; Q "y"`, "CZEZ", "", 0},

		{`P "x"; B; D P; E; S`, "12TDDCZ", "", 0},
		{`P "x"; D S; B; E 1; E 1; S`, "1tT2DsDsZ", "", 0},
		{`P "x"; D S; B; D P; E; C P; S`, "1tn2nC3Z", "", 0},
		{`P ""; B; E; S`, "12IZ", "", 0},
		{`P "x"; B; E; S`, "1EZ", "", 0},
		{`P "x"; B; E; S`, "12DEZ", "", 0},
		{`P "x"; B; E; S`, "12CEZ", "", 0},
		{`P "x"; B; E; Q "y"; E; S; Q "z"`, "EZCZ", "", 0},
		{`P "x"; H`, "E", "", 0},
		{`P "x"; B; E; S`, "12HddcCZ", "", 0},
		{`P "x"; B; E; S`, "1F", "", 0},
		{`S; S; S`, "ZZZ", "", 0},

		{`F 1 ()`, "VZ", "", 0},
		{`F 1 (); F 1 (); S`, "VZEZZ", "", 0},
		{`P "x"; B; E; F 1 (); S`, "12CVZZ", "", 0},
		{`P "x"; F 1 (); S`, "EZ", "", 0},
		{`F 1 ()`, "Z", "out of place", 1},
		{`F 1 ()`, "VV", "out of place", 1},
		{`F 1 ()`, "VC", "out of place", 1},
		{`F 1 ()`, "EE", "a second error", 1},

		{`P "x"; B; E; d "1"; c; S`, "12GCZ", "", 0},
		{`P "x"; B; E; S; d "1"; c; S`, "12GCZ", "", 0},
		{`P "x"; B; E; S; S; f "no"; S`, "12GEZ", "", 0},
		{`P "x"; B; E; S; d "1"; c; S`, "12EZZ", "", 0},
		{`E; c; S; E; c; S`, "GCZGCZ", "", 0},
		{`E; S; E; S; c; S`, "CZGCZ", "", 0},
		{`E; S; c; S`, "GCZZ", "nothing was owed", 0},

		{`Q "x"`, "Z", "out of place", 1},
		{`Q "x"`, "D", "out of place", 1},
		{`Q "x"`, "TTDCZ", "out of place", 1},
		{`Q "x"`, "TDZ", "out of place", 1},
		{`Q "x"`, "1", "out of place", 1},
		{`Q "x"`, "CI", "out of place", 1},
		{`Q "x"`, "IC", "out of place", 1},
		{`Q "x"`, "EC", "out of place", 1},
		{`Q "x"`, "EE", "a second error", 1},
		{`Q "x"`, "CZZ", "nothing was owed", 0},
		{`Q "x"`, "CZE", "nothing was owed", 0},
		{`Q "x"`, "FZ", "after a FATAL", 0},
		{`S`, "ZZ", "nothing was owed", 0},
		{`S`, "EEZ", "a second error", 1},
		{`P "x"; B; E; S`, "1Z", "out of place", 3},
		{`P "x"; B; E; S`, "2", "out of place", 4},
		{`P "x"; B; E; S`, "12TDC", "out of place", 2},
		{`P "x"; B; E; S`, "12DZ", "out of place", 2},
		{`P "x"; B; E; S`, "EC", "out of place", 1},
		{`P "x"; B; E; S`, "E1", "out of place", 1},
		{`P "x"; D S; S`, "1TZ", "out of place", 2},
		{`P "x"; D S; S`, "1ttZ", "out of place", 2},
		{`P "x"; B; D P; S`, "12tT", "out of place", 2},
		{`P "x"; B; E 2; S`, "12Ds", "suspended after 1 rows", 2},
		{`P "x"; B; E 2; S`, "12DDD", "the limit was 2", 2},
		{`P "x"; B; E; S`, "12Ds", "suspended", 2},
		{`P "x"; B; E; S`, "12DI", "out of place", 2},
	}
	for _, test := range tests {
		t.Run(test.sent+" "+test.answered, func(t *testing.T) {
			frames, err := parseExtended(test.sent)
			if err != nil {
				t.Fatal(err)
			}
			l := newLedger()
			for _, f := range frames {
				if f.owes() {
					l.sent(&f.debt)
				}
				if f.endsCopy() {
					l.copyEnds()
				}
			}
			fault := ""
			for _, typ := range []byte(test.answered) {
				if _, err := l.received(sample(typ)); err != nil {
					fault = err.Error()
					break
				}
			}
			if !strings.Contains(fault, test.want) || (test.want == "") != (fault == "") {
				t.Errorf("got %q, want %q", fault, test.want)
			}
			if test.want == "" && len(l.owed) != test.owed {
				t.Errorf("%d are owed, want %d", len(l.owed), test.owed)
			}
		})
	}
}

func sample(typ byte) *message {
	m := &message{typ: typ}
	switch typ {
	case 'T':
		m.columns = []column{{name: "a", oid: 23}}
	case 'D':
		m.row = [][]byte{[]byte("1")}
	case 'Z':
		m.status = 'I'
	case 'E':
		m.diag = []diagnostic{{'V', "ERROR"}}
	case 'F':
		m.typ = 'E'
		m.diag = []diagnostic{{'V', "FATAL"}}
	}
	return m
}

func TestLedgerCountsColumns(t *testing.T) {
	for _, sent := range []string{`P "x"; B; D P; E`, `P "x"; D S; B; E`} {
		frames, err := parseExtended(sent)
		if err != nil {
			t.Fatal(err)
		}
		l := newLedger()
		for _, f := range frames {
			l.sent(&f.debt)
		}
		answer := "12T"
		if strings.Contains(sent, "D S") {
			answer = "1tT2"
		}
		for _, typ := range []byte(answer) {
			if _, err := l.received(sample(typ)); err != nil {
				t.Fatal(err)
			}
		}
		wide := &message{typ: 'D', row: [][]byte{nil, nil}}
		if _, err := l.received(wide); err == nil || !strings.Contains(err.Error(), "2 columns, described were 1") {
			t.Errorf("%s: got %v", sent, err)
		}
	}
}

// After an error without Sync the client may send more, which the server skips.
func TestLedgerSkipsUntilSync(t *testing.T) {
	l := newLedger()
	l.sent(&debt{kind: 'P'})
	if _, err := l.received(sample('E')); err != nil {
		t.Fatal(err)
	}
	l.sent(&debt{kind: 'P'})
	l.sent(&debt{kind: 'Q'})
	if len(l.owed) != 0 {
		t.Fatalf("%d are owed", len(l.owed))
	}
	l.sent(&debt{kind: 'S'})
	l.sent(&debt{kind: 'Q'})
	for _, typ := range []byte("ZCZ") {
		if _, err := l.received(sample(typ)); err != nil {
			t.Fatal(err)
		}
	}
	if len(l.owed) != 0 || l.discarding {
		t.Errorf("%d are owed, discarding %v", len(l.owed), l.discarding)
	}
}

// A COPY waits for the client's data unless what was sent already ends or breaks it.
func TestLedgerKnowsWhoWaits(t *testing.T) {
	l := newLedger()
	l.sent(&debt{kind: 'E'})
	l.sent(&debt{kind: 'S'})
	if l.feeding() {
		t.Error("feeding before the server asked for data")
	}
	if _, err := l.received(sample('G')); err != nil {
		t.Fatal(err)
	}
	if !l.feeding() {
		t.Error("not feeding, though the server asked for data")
	}
	if l.copyEnds() {
		t.Error("Execute is answered without Sync")
	}
	if len(l.owed) != 1 {
		t.Errorf("%d are owed, want the Execute only", len(l.owed))
	}
	l.sent(&debt{kind: 'P'})
	if l.feeding() {
		t.Error("feeding, though a Parse breaks the COPY")
	}
}
