package pgwire_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"raisinproxy/pgwire/settings"
	"raisinproxy/pgwire/wiretest"
)

// TestSettingsAreDescribedAsPostgreSQL compares pg_settings with that of a real server:
// all of a parameter that is not its value.
func TestSettingsAreDescribedAsPostgreSQL(t *testing.T) {
	conn, err := pgx.Connect(t.Context(), wiretest.PostgresURL(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), `SELECT name, concat_ws('|', coalesce(unit, '-'), short_desc, context, vartype, coalesce(min_val, '-'), coalesce(max_val, '-'), coalesce(enumvals, '{}')) FROM pg_settings`)
	if err != nil {
		t.Fatal(err)
	}
	theirs := make(map[string]string)
	var name, described string
	if _, err := pgx.ForEachRow(rows, []any{&name, &described}, func() error {
		theirs[name] = described
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	defaults, err := settings.NewDefaults(settings.Options{})
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, d := range settings.New(defaults, "alice").Describe() {
		want, ok := theirs[d.Name]
		if !ok || slices.Contains(sinceFifteen, d.Name) {
			continue
		}
		compared++
		got := fmt.Sprintf("%s|%s|%s|%s|%s|%s|{%s}", orDash(d.Unit), d.Text, d.Context, d.Kind, orDash(d.Min), orDash(d.Max), strings.Join(d.Enum, ","))
		if strings.ReplaceAll(want, `"`, "") != strings.ReplaceAll(got, `"`, "") {
			t.Errorf("%s: %s, PostgreSQL has %s", d.Name, got, want)
		}
	}
	const most = 300
	if compared < most {
		t.Errorf("%d parameters were compared", compared)
	}
}

// sinceFifteen are parameters that 14, whose version clients are told, has in another way.
var sinceFifteen = []string{"server_version_num", "wal_compression"}

func orDash(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

// TestSettingsOfTheServerAreShown: what the server was started with, by SHOW and in
// pg_settings, and an array of names in binary as a parameter.
func TestSettingsOfTheServerAreShown(t *testing.T) {
	server := startServer(t, map[string]string{"connections": "7"})
	conn, err := pgx.Connect(t.Context(), "postgres://alice@"+server.addr+"/shop?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for sql, want := range map[string]string{
		"SHOW max_connections": "7",
		"SHOW ssl":             "off",
		"SELECT setting FROM pg_settings WHERE name = 'max_connections'":  "7",
		"SELECT setting || unit FROM pg_settings WHERE name = 'work_mem'": "4096kB",
	} {
		var got string
		if err := conn.QueryRow(t.Context(), sql).Scan(&got); err != nil || got != want {
			t.Errorf("%s: %q, %v; not %q", sql, got, err, want)
		}
	}
	var oids []uint32
	rows, err := conn.Query(t.Context(), "SELECT oid FROM pg_type WHERE typname = ANY($1) ORDER BY 1", []string{"int8", "bool"})
	if err == nil {
		oids, err = pgx.CollectRows(rows, pgx.RowTo[uint32])
	}
	if err != nil || !slices.Equal(oids, []uint32{16, 20}) {
		t.Errorf("%v, %v", oids, err)
	}
}
