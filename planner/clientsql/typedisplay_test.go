package clientsql

import (
	"strconv"
	"testing"
)

func TestTypeDisplay(t *testing.T) {
	for oid, want := range map[uint32]string{
		17: "bytea", 18: `"char"`, 1005: "smallint[]", 1042: "character", 1083: "time without time zone",
		1186: "interval", 2206: "regtype", 2276: `"any"`, 4451: "int4multirange",
	} {
		if got, ok := TypeDisplay(oid); !ok || got != want {
			t.Errorf("%d: %q, %v; not %q", oid, got, ok, want)
		}
	}
	for _, oid := range []uint32{0, 1, firstUnpinned, 16384} {
		if got, ok := TypeDisplay(oid); ok {
			t.Errorf("%d: %q", oid, got)
		}
	}
}

func TestTypeDisplayIsThatOfPostgres(t *testing.T) {
	conn := emptyDatabase(t)
	rows := exec(t, conn, "SELECT oid, format_type(oid, NULL) FROM pg_type WHERE oid < "+strconv.Itoa(firstUnpinned)).Rows
	known := 0
	for _, typ := range types() {
		if typ.oid < firstUnpinned {
			known++
		}
	}
	if len(rows) != known {
		t.Errorf("%d types, PostgreSQL has %d", known, len(rows))
	}
	for _, row := range rows {
		if got, ok := TypeDisplay(toOID(string(row[0]))); !ok || got != string(row[1]) {
			t.Errorf("%s: %q, %v; PostgreSQL says %q", row[0], got, ok, row[1])
		}
	}
}
