package clientsql

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/pgwire/wiretest"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

func TestMain(m *testing.M) { wiretest.Main(m) }

// TestSameOnPostgres runs every query whose text is known, with several values for
// what varies, in an empty database of a real server.
func TestSameOnPostgres(t *testing.T) {
	conn := emptyDatabase(t)
	unpinned := unpinnedOIDs(t, conn)
	for _, a := range Answers {
		if a.Digest != "" {
			continue
		}
		t.Run(a.Source, func(t *testing.T) {
			described := describe(t, conn, a)
			compareDescription(t, a, described)
			for _, sql := range variations(a) {
				for _, args := range argumentSets(a) {
					compareRows(t, conn, a, sql, args, unpinned)
				}
			}
		})
	}
}

// describe declares parameters only where PostgreSQL cannot do without.
func describe(t *testing.T, conn *pgconn.PgConn, a Answer) *pgconn.StatementDescription {
	t.Helper()
	described, err := conn.Prepare(t.Context(), "", a.SQL, nil)
	var report *pgconn.PgError
	if errors.As(err, &report) && report.Code == "42P18" { // indeterminate_datatype
		described, err = conn.Prepare(t.Context(), "", a.SQL, oids(a.Params))
	}
	if err != nil {
		t.Fatal(err)
	}
	return described
}

func oids(types []datum.Type) []uint32 {
	var out []uint32
	for _, t := range types {
		out = append(out, uint32(t))
	}
	return out
}

func emptyDatabase(t *testing.T) *pgconn.PgConn {
	t.Helper()
	admin := connect(t, "")
	name := fmt.Sprintf("clientsql_%d", os.Getpid())
	exec(t, admin, "CREATE DATABASE "+name+" ENCODING 'UTF8' TEMPLATE template0")
	t.Cleanup(func() { exec(t, admin, "DROP DATABASE "+name) })
	return connect(t, name)
}

func connect(t *testing.T, database string) *pgconn.PgConn {
	t.Helper()
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

func exec(t *testing.T, conn *pgconn.PgConn, sql string) *pgconn.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	results, err := conn.Exec(ctx, sql).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return results[0]
}

// compareDescription compares columns and parameters. The OID of a view differs
// from server to server, and is left out of the answers.
func compareDescription(t *testing.T, a Answer, described *pgconn.StatementDescription) {
	t.Helper()
	var columns []Column
	for _, f := range described.Fields {
		c := Column{f.Name, datum.Type(f.DataTypeOID), f.TypeModifier, f.TableOID, int16(f.TableAttributeNumber)}
		if c.Table >= firstUnpinned {
			c.Table, c.Attnum = 0, 0
		}
		columns = append(columns, c)
	}
	if !slices.Equal(columns, a.Columns) {
		t.Errorf("columns\n%+v\nPostgreSQL has\n%+v", a.Columns, columns)
	}
	var params []datum.Type
	for _, oid := range described.ParamOIDs {
		params = append(params, datum.Type(oid))
	}
	if !slices.Equal(params, a.Params) {
		t.Errorf("parameters %v, PostgreSQL has %v", a.Params, params)
	}
}

// unpinnedOIDs maps the server's OIDs of that kind to ours.
func unpinnedOIDs(t *testing.T, conn *pgconn.PgConn) map[string]string {
	t.Helper()
	ours := make(map[string]*pgType)
	for _, typ := range types() {
		ours[typ.namespace+"."+typ.name+"/"+typ.kind] = typ
	}
	out := map[string]string{}
	rows := exec(t, conn, `SELECT n.oid, t.oid, t.typrelid, n.nspname || '.' || t.typname || '/' || t.typtype::text
		FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace`).Rows
	if len(rows) != len(types()) {
		t.Errorf("%d types, PostgreSQL has %d", len(types()), len(rows))
	}
	for _, row := range rows {
		typ := ours[string(row[3])]
		if typ == nil {
			t.Errorf("no type %s", row[3])
			continue
		}
		out[string(row[0])] = fmt.Sprint(schemaOIDs[typ.namespace])
		out[string(row[1])] = fmt.Sprint(typ.oid)
		if typ.relation != 0 {
			out[string(row[2])] = fmt.Sprint(typ.relation)
		}
	}
	return out
}

// probes replace a literal or parameter: types of every kind, their like, and what
// is no type at all.
var probes = struct{ names, oids []string }{
	names: []string{"jsonb", "_text", "int4range", "int4multirange", "box", "record", "point", "hstore", "tables", "pg_class"},
	oids:  []string{"16", "603", "1009", "3904", "4451", "2249", "1247", "0", "999999"},
}

// variations are the query with other values for a literal that is Free or Lists.
func variations(a Answer) []string {
	out := []string{a.SQL}
	match, _ := index().Find(normalise(a.SQL))
	for _, values := range match.Literals {
		value := values[len(values)-1]
		sample, other := "'"+value+"'", probes.names
		switch {
		case strings.Trim(value, "0123456789") == "":
			sample, other = value, probes.oids
		case value == "FALSE" || value == "TRUE":
			other = []string{"t", "false", "0"}
		case value[0] == '{':
			other = []string{"{}", "{abort,\"absolute\"}"}
		}
		for _, probe := range other {
			if sample[0] == '\'' {
				probe = "'" + probe + "'"
			}
			out = append(out, strings.ReplaceAll(a.SQL, sample, probe))
		}
	}
	return out
}

// samples are parameters as clients send them, by what they are for.
var samples = map[string][]string{
	"has_table":                     {"pg_class", "r", "p", "f", "v", "m", "pg_catalog"},
	"has_table with a schema":       {"tables", "r", "p", "f", "v", "m", "information_schema"},
	"get_table_names":               {"r", "p", "t", "pg_catalog"},
	"get_table_names with a schema": {"r", "p", "t", "information_schema"},
	"get_view_names":                {"v", "t", "pg_catalog"},
	"get_schema_names":              {"pg_%"},
	"has_sequence":                  {"S", "s", "pg_catalog"},
	"get_sequence_names":            {"S", "pg_catalog"},
}

// purpose is the last part of the source.
func purpose(a Answer) string { return a.Source[strings.LastIndex(a.Source, ", ")+len(", "):] }

// argumentSets are parameters as text; nil is NULL.
func argumentSets(a Answer) [][][]byte {
	if len(a.Params) == 0 {
		return [][][]byte{nil}
	}
	values := probes.names
	if a.Params[0] == datum.OID {
		values = probes.oids
	}
	var out [][][]byte
	for _, first := range values {
		for _, last := range [][]byte{[]byte("pg_catalog"), []byte("information_schema"), nil} {
			args := make([][]byte, len(a.Params))
			for i, t := range a.Params {
				switch {
				case i == 0:
					args[i] = []byte(first)
				case t == datum.Bool:
					args[i] = fmt.Append(nil, last == nil)
				default:
					args[i] = last
				}
			}
			out = append(out, args)
		}
	}
	out = append(out, make([][]byte, len(a.Params)))
	sample := samples[purpose(a)]
	if len(sample) != len(a.Params) {
		return out
	}
	// The parameters of a client, and each of them replaced.
	for i := range sample {
		for _, other := range []string{sample[i], "pg_class", "tables", "pg_catalog", "information_schema", "public", "r", "v", "S", "p", "table", ""} {
			args := make([][]byte, len(sample))
			for j := range sample {
				if args[j] = []byte(sample[j]); i == j && other != "" {
					args[j] = []byte(other)
				} else if i == j {
					args[j] = nil
				}
			}
			out = append(out, args)
		}
	}
	return out
}

func compareRows(t *testing.T, conn *pgconn.PgConn, a Answer, sql string, args [][]byte, unpinned map[string]string) {
	t.Helper()
	result := conn.ExecParams(t.Context(), sql, args, oids(a.Params), nil, nil).Read()
	match, ok := find(t, sql)
	if !ok || match.SQL != a.SQL {
		t.Errorf("%s: the answer is not found", sql)
		return
	}
	call := Call{Session: session, Args: parsed(t, a, args), Literals: match.Literals}
	rows, err := match.Rows(call)
	if isRefusal(err) {
		return
	}
	if result.Err != nil || err != nil {
		compareErrors(t, sql, args, err, result.Err)
		return
	}
	var want, got []string
	for _, row := range result.Rows {
		want = append(want, strings.Join(serverCells(a, row, unpinned), "|"))
	}
	for _, row := range rows {
		got = append(got, strings.Join(cells(&a, row), "|"))
	}
	if !strings.Contains(strings.ToLower(a.SQL), "order by") {
		slices.Sort(want)
		slices.Sort(got)
	}
	if known := differs[a.Source]; known != nil {
		want, got = known(want), known(got)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwith %s: %d rows, PostgreSQL has %d:\n%s", sql, args, len(got), len(want), firstDifference(got, want))
	}
}

// differs are the answers that depend on more than the query, and what of their
// rows can be compared.
var differs = map[string]func(rows []string) []string{
	// The databases of the server.
	`psql 15.18, \l`: nothing,
	`psql 15.18, \l where the server says that it is 14.18`: nothing,
	"DBD::Pg 3.16.0, data_sources":                          nothing,
	// How the database was made.
	"ActiveRecord 6.1.7.10, collation": nothing,
	"ActiveRecord 6.1.7.10, ctype":     nothing,
	// The roles of the server.
	`psql 15.18, \du, \dg`: ofPostgres,
}

// ofPostgres keeps the role that initdb makes.
func ofPostgres(rows []string) []string {
	return slices.DeleteFunc(slices.Clone(rows), func(row string) bool { return !strings.HasPrefix(row, "postgres|") })
}

func nothing([]string) []string { return nil }

func parsed(t *testing.T, a Answer, args [][]byte) []datum.Datum {
	t.Helper()
	var out []datum.Datum
	for i, arg := range args {
		d := datum.OfText(string(arg))
		if arg == nil {
			d = datum.Null
		} else if datum.Supported(a.Params[i]) {
			var err error
			if d, err = datum.Parse(a.Params[i], string(arg)); err != nil {
				t.Fatal(err)
			}
		}
		out = append(out, d)
	}
	return out
}

// isRefusal says whether a query is known but not with these values.
func isRefusal(err error) bool {
	var report *pgerr.Error
	return errors.As(err, &report) && report.Code == codes.FeatureNotSupported
}

func compareErrors(t *testing.T, sql string, args [][]byte, got, want error) {
	t.Helper()
	var report *pgerr.Error
	var server *pgconn.PgError
	if !errors.As(got, &report) || !errors.As(want, &server) ||
		string(report.Code) != server.Code || report.Message != server.Message {
		t.Errorf("%s\nwith %s: %v, PostgreSQL says %v", sql, args, got, want)
	}
}

func serverCells(a Answer, row [][]byte, unpinned map[string]string) []string {
	out := make([]string, len(row))
	for i, value := range row {
		out[i] = string(value)
		if ours, ok := unpinned[out[i]]; ok && a.Columns[i].Type == datum.OID {
			out[i] = ours
		}
		if value == nil {
			out[i] = "<null>"
		}
	}
	return out
}

func firstDifference(got, want []string) string {
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			return "missing " + want[i]
		case i >= len(want):
			return "surplus " + got[i]
		case got[i] != want[i]:
			return got[i] + "\nnot\n" + want[i]
		}
	}
	return "nothing"
}
