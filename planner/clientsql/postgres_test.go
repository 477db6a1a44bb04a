package clientsql

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"raisinproxy/pgwire/wiretest"
	"raisinproxy/planner/catalog"
	"raisinproxy/sqlfuncs/datum"
)

func TestMain(m *testing.M) { wiretest.Main(m) }

type fixedSession struct{}

func (fixedSession) Database() string                   { return "shop" }
func (fixedSession) User() string                       { return "postgres" }
func (fixedSession) Version() string                    { return "PostgreSQL" }
func (fixedSession) Setting(name string) (string, bool) { return "public", name == "search_path" }
func (fixedSession) Settings() []catalog.Setting        { return nil }

var session = fixedSession{}

// TestSameOnPostgres runs every query whose text is known in an empty database of a real
// server, about what is not there and about the catalogue, which is refused.
func TestSameOnPostgres(t *testing.T) {
	conn := connect(t)
	for _, a := range Answers {
		if a.Digest != "" {
			continue
		}
		t.Run(a.Source, func(t *testing.T) {
			compareDescription(t, a, a.SQL, conn)
			if rows := exec(t, conn, a.SQL); len(rows) != 0 {
				t.Errorf("PostgreSQL has %d rows", len(rows))
			}
			if rows, err := a.Rows(Call{Session: session, Literals: [][]string{{"x"}, {"%"}}}); err != nil || len(rows) != 0 {
				t.Errorf("%d rows, %v", len(rows), err)
			}
			if _, err := a.Rows(Call{Session: session, Literals: [][]string{{"pg_class"}, {"%"}}}); !catalog.IsRefusal(err) {
				t.Errorf("pg_class is described: %v", err)
			}
		})
	}
}

// connect makes an empty database and connects to it.
func connect(t *testing.T) *pgconn.PgConn {
	t.Helper()
	open := func(database string) *pgconn.PgConn {
		config, err := pgconn.ParseConfig(wiretest.PostgresURL(t))
		if err != nil {
			t.Fatal(err)
		}
		if database != "" {
			config.Database = database
		}
		conn, err := pgconn.ConnectConfig(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if err := conn.Close(ctx); err != nil {
				t.Error(err)
			}
		})
		return conn
	}
	admin := open("")
	name := fmt.Sprintf("clientsql_%d", os.Getpid())
	exec(t, admin, "CREATE DATABASE "+name+" ENCODING 'UTF8' TEMPLATE template0")
	t.Cleanup(func() { exec(t, admin, "DROP DATABASE "+name) })
	return open(name)
}

func exec(t *testing.T, conn *pgconn.PgConn, sql string) [][][]byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	results, err := conn.Exec(ctx, sql).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return results[0].Rows
}

func compareDescription(t *testing.T, a Answer, sql string, conn *pgconn.PgConn) {
	t.Helper()
	described, err := conn.Prepare(t.Context(), "", sql, nil)
	if err != nil {
		t.Fatal(err)
	}
	var columns []catalog.Column
	for _, f := range described.Fields {
		columns = append(columns, catalog.Column{Name: f.Name, Type: datum.Type(f.DataTypeOID), Typmod: f.TypeModifier})
	}
	if !slices.Equal(columns, a.Columns) {
		t.Errorf("columns\n%+v\nPostgreSQL has\n%+v", a.Columns, columns)
	}
}

// unpinnedOIDs maps the server's OIDs of types that initdb gave to ours.
func unpinnedOIDs(t *testing.T, conn *pgconn.PgConn) map[string]string {
	t.Helper()
	const types = `SELECT n.nspname || '.' || t.typname || '', t.oid::text FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace`
	ours := make(map[string]string)
	rows, err := catalog.Own(types)().Rows(session, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		ours[row[0].Str] = row[1].Str
	}
	mapped := make(map[string]string)
	for _, row := range exec(t, conn, types) {
		mapped[string(row[1])] = ours[string(row[0])]
	}
	return mapped
}

func serverLines(a Answer, rows [][][]byte, unpinned map[string]string) []string {
	var out []string
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, value := range row {
			cells[i] = string(value)
			if ours, ok := unpinned[cells[i]]; ok && a.Columns[i].Type == datum.OID {
				cells[i] = ours
			}
			if value == nil {
				cells[i] = "<null>"
			}
		}
		out = append(out, strings.Join(cells, "|"))
	}
	slices.Sort(out)
	return out
}
