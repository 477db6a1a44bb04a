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
// server, about a relation of the catalogue and about none. Of a digest it runs the query that
// answers: there is no other.
func TestSameOnPostgres(t *testing.T) {
	conn := connect(t)
	ours := unpinnedOIDs(t, conn)
	answers := parseAnswers(answersSQL)
	index := newIndex(answers)
	for _, a := range answers {
		t.Run(a.Source, func(t *testing.T) {
			if a.SQL == "" {
				args := slices.Repeat([]datum.Datum{array([]string{"pg_catalog", "public"})}, len(a.Varies))
				compare(t, conn, a.OwnSQL, a.Query(), args, ours)
				return
			}
			for _, name := range []string{"pg_depend", "pg_attribute", "nothing"} {
				sql := strings.Replace(a.SQL, "'pg_depend'", "'"+name+"'", 1)
				query, args, ok := index.Find(normalise(sql))
				if !ok || query != a.Query() {
					t.Fatalf("%s\nhas another answer", sql)
				}
				compare(t, conn, sql, query, args, ours)
			}
		})
	}
}

// compare compares what PostgreSQL says of a query with an answer: the columns, and the rows
// in any order.
func compare(t *testing.T, conn *pgconn.PgConn, sql string, query *catalog.Query, args []datum.Datum, ours map[string]string) {
	t.Helper()
	var values [][]byte
	if strings.Contains(sql, "$1") {
		for _, arg := range args {
			values = append(values, []byte(arg.Str))
		}
	}
	result := conn.ExecParams(t.Context(), sql, values, nil, nil, nil).Read()
	if result.Err != nil {
		t.Fatal(result.Err)
	}
	described, err := conn.Prepare(t.Context(), "", sql, nil)
	if err != nil {
		t.Fatal(err)
	}
	var columns []catalog.Column
	for _, f := range described.Fields {
		columns = append(columns, catalog.Column{Name: f.Name, Type: datum.Type(f.DataTypeOID), Typmod: f.TypeModifier})
	}
	if !slices.Equal(columns, query.Columns) {
		t.Errorf("columns\n%+v\nPostgreSQL has\n%+v", query.Columns, columns)
	}
	rows, err := query.Rows(session, args, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, want := lines(query, rows), serverLines(query, result.Rows, ours)
	if !slices.Equal(got, want) {
		t.Errorf("%s\n%d rows, PostgreSQL has %d:\n%q\nnot\n%q", sql, len(got), len(want), got, want)
	}
}

// TestElementsComeFirst: Npgsql forgets a type whose element it has not seen before.
func TestElementsComeFirst(t *testing.T) {
	for _, a := range parseAnswers(answersSQL) {
		element := slices.IndexFunc(a.Query().Columns, func(c catalog.Column) bool { return c.Name == "elemtypoid" })
		if element < 0 {
			continue
		}
		rows, err := a.Query().Rows(session, slices.Repeat([]datum.Datum{array([]string{"pg_catalog", "public"})}, len(a.Varies)), nil)
		if err != nil || len(rows) < 160 {
			t.Fatalf("%s: %d rows, %v", a.Source, len(rows), err)
		}
		const oid = 1
		seen := make(map[int64]bool)
		for _, row := range rows {
			if e := row[element]; !e.Null && !seen[e.Int] {
				t.Errorf("%s: %d comes before its element %d", a.Source, row[oid].Int, e.Int)
			}
			seen[row[oid].Int] = true
		}
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

// unpinnedOIDs maps the server's OIDs of types that initdb gave to those of the catalogue.
func unpinnedOIDs(t *testing.T, conn *pgconn.PgConn) map[string]string {
	t.Helper()
	const types = `SELECT n.nspname || '.' || t.typname || '', t.oid::text FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace`
	ours := make(map[string]string)
	rows, err := catalog.Own(types)().Rows(session, nil, nil)
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

// lines are rows as text, in an order of their own; NULL is <null>.
func lines(query *catalog.Query, rows [][]datum.Datum) []string {
	var out []string
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, d := range row {
			if cells[i] = "<null>"; !d.Null {
				cells[i] = string(datum.AppendText(nil, query.Columns[i].Type, d, nil))
			}
		}
		out = append(out, strings.Join(cells, "|"))
	}
	slices.Sort(out)
	return out
}

func serverLines(query *catalog.Query, rows [][][]byte, unpinned map[string]string) []string {
	var out []string
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, value := range row {
			cells[i] = string(value)
			if ours, ok := unpinned[cells[i]]; ok && query.Columns[i].Type == datum.OID {
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
