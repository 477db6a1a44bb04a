package wiretest

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// What a server written with pgproto3 sends is understood, and shown on one line.
func TestDecodeAndRender(t *testing.T) {
	fields := []pgproto3.FieldDescription{
		{Name: []byte("a"), DataTypeOID: 20, DataTypeSize: 8, TypeModifier: -1},
		{Name: []byte("b c"), DataTypeOID: 99, DataTypeSize: -1, TypeModifier: 7, Format: 1, TableOID: 5, TableAttributeNumber: 2},
	}
	columns := []column{{oid: 20, format: 1}, {oid: 25}, {oid: 16}, {oid: 99, format: 1}}
	tests := []struct {
		message pgproto3.BackendMessage
		view    view
		want    string
	}{
		{&pgproto3.AuthenticationOk{}, view{}, "R Ok"},
		{&pgproto3.AuthenticationSASL{AuthMechanisms: []string{"A", "B"}}, view{}, "R SASL A B"},
		{&pgproto3.BackendKeyData{ProcessID: 7, SecretKey: []byte{1, 2, 3, 4}}, view{}, "K"},
		{&pgproto3.BindComplete{}, view{}, "2"},
		{&pgproto3.CloseComplete{}, view{}, "3"},
		{&pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")}, view{}, "C SELECT 1"},
		{&pgproto3.CopyData{Data: []byte("a\tb\n")}, view{}, `d 'a\tb\n'`},
		{&pgproto3.CopyOutResponse{OverallFormat: 1, ColumnFormatCodes: []uint16{1, 1}}, view{}, "H 1 [1 1]"},
		{
			&pgproto3.DataRow{Values: [][]byte{{0, 0, 0, 0, 0, 0, 0, 42}, []byte("it's \\ é\x01\xff"), nil, {0xca, 0xfe}, []byte("more")}},
			view{}, `D [b:42 'it\'s \\ é\x01\xff' NULL b:x'cafe' 'more']`,
		},
		{&pgproto3.EmptyQueryResponse{}, view{}, "I"},
		{
			&pgproto3.ErrorResponse{
				Severity: "FEHLER", SeverityUnlocalized: "ERROR", Code: "42883", Message: `no "f"`, Detail: "d", Hint: "h", Position: 8,
				Where: "w", File: "f.c", Line: 1, Routine: "r",
			}, view{}, `E FEHLER/ERROR 42883 'no "f"' detail='d' hint='h' position=8`,
		},
		{
			&pgproto3.NoticeResponse{
				Severity: "NOTICE", SeverityUnlocalized: "NOTICE", Code: "00000", Message: "m", Where: "w", InternalPosition: 3,
			}, view{fields: true}, `N NOTICE 00000 'm' internal_position=3 where='w'`,
		},
		{&pgproto3.NegotiateProtocolVersion{NewestMinorProtocol: 196608, UnrecognizedOptions: []string{"_pq_.x"}}, view{}, "v 196608 [_pq_.x]"},
		{&pgproto3.NoData{}, view{}, "n"},
		{&pgproto3.NotificationResponse{PID: 7, Channel: "c", Payload: "p"}, view{}, "A from=own 'c' 'p'"},
		{&pgproto3.NotificationResponse{PID: 8, Channel: "c"}, view{}, "A from=other 'c' ''"},
		{&pgproto3.ParameterDescription{ParameterOIDs: []uint32{20, 99}}, view{}, "t int8 99"},
		{&pgproto3.ParameterDescription{ParameterOIDs: []uint32{20, 99}}, view{oids: true}, "t 20 99"},
		{&pgproto3.ParameterStatus{Name: "n", Value: "v"}, view{}, "S n=v"},
		{&pgproto3.ParseComplete{}, view{}, "1"},
		{&pgproto3.PortalSuspended{}, view{}, "s"},
		{&pgproto3.ReadyForQuery{TxStatus: 'T'}, view{}, "Z T"},
		{&pgproto3.RowDescription{Fields: fields}, view{}, `T a:int8 'b c':99/b`},
		{
			&pgproto3.RowDescription{Fields: fields}, view{oids: true},
			`T a{table=0 att=0 oid=20 len=8 mod=-1 fmt=0} 'b c'{table=5 att=2 oid=99 len=-1 mod=7 fmt=1}`,
		},
	}
	for _, test := range tests {
		t.Run(test.want, func(t *testing.T) {
			encoded, err := test.message.Encode(nil)
			if err != nil {
				t.Fatal(err)
			}
			m, err := decode(encoded[0], encoded[5:])
			if err != nil {
				t.Fatal(err)
			}
			if got := m.render(test.view, columns, 7); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if len(encoded) > 5 && encoded[0] != 'd' && encoded[0] != 'K' {
				if _, err := decode(encoded[0], encoded[5:len(encoded)-1]); err == nil {
					t.Error("a body that is cut is accepted")
				}
			}
			if encoded[0] != 'd' && encoded[0] != 'K' {
				if _, err := decode(encoded[0], append(encoded[5:], 0)); err == nil {
					t.Error("a body that is too long is accepted")
				}
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	tests := map[string]string{
		"y":                                 "unknown message type",
		"ZX":                                "status 'X'",
		"C\x00":                             "without a tag",
		"D\x00\x01\xff\xff\xff\xfe":         "too short",
		"D\x00\x01\x7f\xff\xff\xff":         "too short",
		"v\x00\x00\x00\x00\xff\xff\xff\xff": "too short",
		"ESERROR\x00VERROR\x00Mx\x00\x00":   "lacks the field 'C'",
		"ESERROR\x00C12345\x00Mx\x00\x00":   "lacks the field 'V'",
		"ESERROR\x00VERROR\x00C123\x00Mx\x00\x00": "SQLSTATE",
	}
	for input, want := range tests {
		if _, err := decode(input[0], []byte(input[1:])); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", input, err, want)
		}
	}
}
