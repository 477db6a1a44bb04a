package datum

import (
	"testing"
	"time"
)

// TestOfColumn: what an array has to quote is quoted, and no text is NULL.
func TestOfColumn(t *testing.T) {
	at := OfTime(time.Date(2026, 11, 30, 12, 0, 0, 5000, time.FixedZone("", 3600)))
	for _, test := range []struct {
		t      Type
		values []Datum
		want   string
	}{
		{Text, nil, `{}`},
		{Text, []Datum{OfText("a"), OfText(""), Null, OfText("NULL")}, `{"a","",NULL,"NULL"}`},
		{Text, []Datum{OfText(`a"b\c`), OfText(`{d,e}`), OfText(" f\n")}, `{"a\"b\\c","{d,e}"," f` + "\n" + `"}`},
		{Int8, []Datum{OfInt(-1), Null}, `{"-1",NULL}`},
		{Bool, []Datum{OfBool(true), OfBool(false)}, `{"t","f"}`},
		{Timestamptz, []Datum{at}, `{"2026-11-30 11:00:00.000005+00"}`},
	} {
		if got := OfColumn(test.t, test.values); got.Str != test.want {
			t.Errorf("%v: %s, want %s", test.t, got.Str, test.want)
		}
	}
}
