package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// fixedSession is a session of the superuser, as that of the test's connection.
type fixedSession struct{ database string }

func (s fixedSession) Database() string { return s.database }
func (fixedSession) User() string       { return "postgres" }
func (fixedSession) Version() string    { return "PostgreSQL" }
func (fixedSession) Setting(name string) (string, bool) {
	value, ok := map[string]string{"search_path": `"$user", public`, "TimeZone": "UTC"}[name]
	return value, ok
}
func (fixedSession) Settings() []Setting { return nil }

// TestSameOnPostgres runs the queries of testdata/queries.sql here and on a real server:
// the columns and their types, the types of the parameters, and the rows in text and in
// binary have to be the same. The file says which queries are refused.
func TestSameOnPostgres(t *testing.T) {
	conn := emptyDatabase(t)
	createFunctions(t, conn)
	c := comparer{conn: conn, oids: oidsOf(t, conn), session: fixedSession{databaseOf(t, conn)}}
	text, err := os.ReadFile("testdata/queries.sql")
	if err != nil {
		t.Fatal(err)
	}
	for paragraph := range strings.SplitSeq(string(text), "\n\n") {
		q := parseCase(paragraph)
		if q.sql == "" {
			continue
		}
		t.Run(q.name, func(t *testing.T) { c.run(t, q) })
	}
}

// testCase is one query: comments, the first of which is its name, the text, and the
// parameters of each run in a line that begins with --=.
type testCase struct {
	name, sql string
	refused   bool
	columns   bool // only they are compared: the rows are those of the server
	unordered bool // there are rows that ORDER BY takes for the same
	args      [][][]byte
}

func parseCase(paragraph string) (q testCase) {
	var sql []string
	for line := range strings.SplitSeq(paragraph, "\n") {
		switch {
		case strings.HasPrefix(line, "--="):
			var args [][]byte
			for arg := range strings.SplitSeq(strings.TrimPrefix(line, "--="), "|") {
				if arg = strings.TrimSpace(arg); arg == "NULL" {
					args = append(args, nil)
				} else {
					args = append(args, []byte(arg))
				}
			}
			q.args = append(q.args, args)
		case line == "-- refused":
			q.refused = true
		case line == "-- unordered":
			q.unordered = true
		case line == "-- columns":
			q.columns = true
		case strings.HasPrefix(line, "-- ") && q.name == "":
			q.name = line[len("-- "):]
		default:
			sql = append(sql, line)
		}
	}
	q.sql = strings.TrimSpace(strings.Join(sql, "\n"))
	return q
}

type comparer struct {
	conn    *pgconn.PgConn
	oids    map[string]string // of the server, to ours
	session Session
}

func compile(sql string) (*Query, error) {
	parsed, err := pg_query.Parse(sql)
	if err != nil {
		return nil, err
	}
	return Compile(parsed.Stmts[0].Stmt.GetSelectStmt(), nil, true, func(at int32) int { return int(at) + 1 })
}

func (c comparer) run(t *testing.T, q testCase) {
	query, err := compile(q.sql)
	if q.refused {
		if err == nil {
			_, err = query.Rows(c.session, nil, nil)
		}
		if !IsRefusal(err) {
			t.Errorf("%s\nis not refused: %v", q.sql, err)
		}
		return
	}
	described, serverErr := c.conn.Prepare(t.Context(), "", q.sql, nil)
	if err == nil && serverErr != nil { // a name that depends on the search path is looked up later
		_, err = query.Rows(c.session, nil, nil)
	}
	if err != nil || serverErr != nil {
		sameError(t, q.sql, err, serverErr)
		return
	}
	c.sameDescription(t, q.sql, query, described)
	for _, args := range c.argumentSets(q, query.Params) {
		c.sameRows(t, q, query, args)
	}
}

func (c comparer) sameDescription(t *testing.T, sql string, query *Query, described *pgconn.StatementDescription) {
	t.Helper()
	var columns []Column
	for _, f := range described.Fields {
		columns = append(columns, Column{f.Name, datum.Type(f.DataTypeOID), f.TypeModifier})
	}
	if !slices.Equal(columns, query.Columns) {
		t.Errorf("%s\ncolumns\n%+v\nPostgreSQL has\n%+v", sql, query.Columns, columns)
	}
	var params []datum.Type
	for _, oid := range described.ParamOIDs {
		params = append(params, datum.Type(oid))
	}
	if !slices.Equal(params, query.Params) {
		t.Errorf("%s\nparameters %v, PostgreSQL has %v", sql, query.Params, params)
	}
}

// argumentSets are those of the case, or values for each type.
func (c comparer) argumentSets(q testCase, params []datum.Type) [][][]byte {
	if len(q.args) > 0 {
		return q.args
	}
	if len(params) == 0 {
		return [][][]byte{nil}
	}
	var sets [][][]byte
	for n := range 12 {
		args := make([][]byte, len(params))
		for i, p := range params {
			values := samples(p)
			if v := values[(n+i*n)%len(values)]; v != "NULL" {
				args[i] = []byte(v)
			}
		}
		sets = append(sets, args)
	}
	return sets
}

func samples(t datum.Type) []string {
	switch {
	case t == datum.OID || t == typeRegtype || t == typeRegclass:
		return []string{"16", "603", "1009", "3904", "4451", "2249", "1247", "0", "999999", "NULL", "25", "2200"}
	case t == datum.Bool:
		return []string{"t", "f", "NULL"}
	case t == datum.Char:
		return []string{"r", "v", "b", "", "NULL", "p"}
	case t.IsInteger():
		return []string{"0", "1", "-1", "3", "NULL"}
	case t == arrayOf(datum.Char):
		return []string{"{r,p,f}", "{v,m}", "{}", `{r,p,""}`, "NULL", "{NULL}"}
	case element(t) == datum.OID:
		return []string{"{16,17}", "{}", "NULL", "{0,NULL,25}"}
	case element(t) != 0:
		return []string{"{bool,text,_text}", `{"pg_class",NULL}`, "{}", "NULL"}
	}
	return []string{"jsonb", "_text", "pg_class", "tables", "pg_catalog", "information_schema", "public", "hstore", "pg_%", "box", "NULL", "^(pg_.*)$"}
}

func (c comparer) sameRows(t *testing.T, q testCase, query *Query, args [][]byte) {
	t.Helper()
	rows, err := query.Rows(c.session, arguments(t, query.Params, args), nil)
	result := c.conn.ExecParams(t.Context(), q.sql, args, nil, nil, nil).Read()
	if err != nil || result.Err != nil {
		sameError(t, fmt.Sprintf("%s\nwith %s", q.sql, args), err, result.Err)
		return
	}
	if q.columns {
		return
	}
	want, got := c.serverRows(result.Rows), textRows(query, rows)
	binary := c.conn.ExecParams(t.Context(), q.sql, args, nil, nil, []int16{1}).Read()
	if binary.Err == nil {
		c.sameBinary(t, query, rows, result.Rows, binary.Rows)
	}
	if q.unordered || !strings.Contains(strings.ToLower(q.sql), "order by") {
		slices.Sort(want)
		slices.Sort(got)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwith %s: %d rows, PostgreSQL has %d:\n%s", q.sql, args, len(got), len(want), firstDifference(got, want))
	}
}

func arguments(t *testing.T, params []datum.Type, args [][]byte) []datum.Datum {
	t.Helper()
	values := make([]datum.Datum, len(args))
	for i, arg := range args {
		switch {
		case arg == nil:
			values[i] = datum.Null
		case datum.Supported(params[i]):
			d, err := datum.Parse(params[i], string(arg))
			if err != nil {
				t.Fatal(err)
			}
			values[i] = d
		default:
			values[i] = datum.OfText(string(arg))
		}
	}
	return values
}

// assignedOID are OIDs that initdb gives, in an order of its own.
var assignedOID = regexp.MustCompile(`1[2-5][0-9]{3}`)

func (c comparer) serverRows(rows [][][]byte) []string {
	var all []string
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, value := range row {
			if cells[i] = "<null>"; value != nil {
				cells[i] = assignedOID.ReplaceAllStringFunc(string(value), func(oid string) string {
					if ours, ok := c.oids[oid]; ok {
						return ours
					}
					return oid
				})
			}
		}
		all = append(all, strings.Join(cells, "|"))
	}
	return all
}

func textRows(query *Query, rows [][]datum.Datum) []string {
	var all []string
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, d := range row {
			if cells[i] = "<null>"; !d.Null {
				cells[i] = string(datum.AppendText(nil, query.Columns[i].Type, d, nil))
			}
		}
		all = append(all, strings.Join(cells, "|"))
	}
	return all
}

// sameBinary compares the binary forms of values whose text is the same.
func (c comparer) sameBinary(t *testing.T, query *Query, rows [][]datum.Datum, text, binary [][][]byte) {
	t.Helper()
	byText := make(map[string][][]byte)
	for i, row := range text {
		for j, value := range row {
			if value != nil {
				key := fmt.Sprint(j, string(value))
				byText[key] = append(byText[key], binary[i][j])
			}
		}
	}
	for _, row := range rows {
		for j, d := range row {
			if d.Null {
				continue
			}
			column := query.Columns[j]
			shown := string(datum.AppendText(nil, column.Type, d, nil))
			want, ok := byText[fmt.Sprint(j, shown)]
			if !ok || assignedOID.MatchString(shown) || assignedOID.MatchString(itoa(d.Int)) {
				continue
			}
			got, err := datum.AppendBinary(nil, column.Type, d)
			if err != nil || !slices.ContainsFunc(want, func(b []byte) bool { return bytes.Equal(b, got) }) {
				t.Errorf("column %s, %q: %x %v in binary, PostgreSQL has %x", column.Name, shown, got, err, want)
				return
			}
		}
	}
}

func sameError(t *testing.T, what string, got, want error) {
	t.Helper()
	var report *pgerr.Error
	var server *pgconn.PgError
	if !errors.As(got, &report) || !errors.As(want, &server) || string(report.Code) != server.Code || report.Message != server.Message {
		t.Errorf("%s\n%v, PostgreSQL says %v", what, got, want)
	}
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

// createFunctions makes the product's functions on the server, as far as its catalogue
// shows them.
func createFunctions(t *testing.T, conn *pgconn.PgConn) {
	t.Helper()
	for _, f := range sqlfuncs.Functions {
		var args, columns, nulls []string
		for _, arg := range f.Args {
			text := arg.Name + " " + arg.Type.String()
			if arg.Default != nil {
				text += " DEFAULT " + arg.DefaultSQL()
			}
			args = append(args, text)
		}
		for _, col := range f.Columns {
			columns, nulls = append(columns, col.Name+" "+col.Type.String()), append(nulls, "NULL::"+col.Type.String())
		}
		result := "TABLE (" + strings.Join(columns, ", ") + ")"
		if len(columns) == 1 {
			result = f.Columns[0].Type.String()
		}
		exec(t, conn, "CREATE FUNCTION "+f.Name+"("+strings.Join(args, ", ")+") RETURNS "+result+" LANGUAGE sql AS 'SELECT "+strings.Join(nulls, ", ")+"'; COMMENT ON FUNCTION "+
			f.Name+" IS '"+strings.ReplaceAll(f.Comment, "'", "''")+"'")
	}
}

func databaseOf(t *testing.T, conn *pgconn.PgConn) string {
	t.Helper()
	return string(query(t, conn, "SELECT current_database()")[0][0])
}

// oidsOf maps the server's OIDs that initdb gave to those of the catalogue here.
func oidsOf(t *testing.T, conn *pgconn.PgConn) map[string]string {
	t.Helper()
	ours := make(map[string]string)
	named := `SELECT 't' || n.nspname || '.' || t.typname || '/' || t.typtype::text, t.oid::text FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
		UNION ALL SELECT 'c' || n.nspname || '.' || c.relname || '/' || c.relkind::text, c.oid::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		UNION ALL SELECT 'n' || nspname || '', oid::text FROM pg_namespace UNION ALL SELECT 'x' || extname || '', oid::text FROM pg_extension
		UNION ALL SELECT 'l' || lanname || '', oid::text FROM pg_language`
	q, err := compile(named)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := q.Rows(fixedSession{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		ours[row[0].Str] = row[1].Str
	}
	mapped := make(map[string]string)
	for _, row := range query(t, conn, named) {
		if oid, ok := ours[string(row[0])]; ok {
			mapped[string(row[1])] = oid
		}
	}
	return mapped
}
