package catalog

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

var update = flag.Bool("update", false, "write catalogue.tsv from the PostgreSQL 15 of the tests")

// stored are the catalogues whose rows are in catalogue.tsv, with the condition that
// keeps what refers to other stored rows.
var stored = []struct{ name, where string }{
	{"pg_type", ""},
	{"pg_class", ""},
	{"pg_attribute", ""},
	{"pg_namespace", ""},
	{"pg_range", ""},
	{"pg_am", ""},
	{"pg_auth_members", ""},
	{"pg_extension", ""},
	{"pg_language", ""},
	{"pg_tablespace", ""},
	{"pg_index", ""},
	{"pg_constraint", ""},
	{"pg_proc", "proname !~ '^raisin_'"},
	{"pg_description", ""},
	{"pg_depend", ""},
}

// TestGenerate writes catalogue.tsv, if told to:
//
//	go test ./planner/catalog -run Generate -update
func TestGenerate(t *testing.T) {
	if !*update {
		if len(relations()) == 0 {
			t.Error("catalogue.tsv is empty")
		}
		return
	}
	conn := emptyDatabase(t)
	var out strings.Builder
	out.WriteString("# The catalogues of an empty database of PostgreSQL 15, written by TestGenerate. A line that starts with a tab begins\n" +
		"# a catalogue: its name and columns, those that are the same in all rows with their value. The rows follow as COPY\n" +
		"# writes them; a reg… column has the OID and, behind a blank, its name, a pg_node_tree what\n# pg_get_expr makes of it. Catalogues without rows are in the last line.\n")
	for _, s := range stored {
		writeRelation(t, conn, &out, s.name, s.where)
	}
	out.WriteString("\tempty")
	for _, row := range query(t, conn, `SELECT relname FROM pg_class WHERE relnamespace = 11 AND relkind = 'r' ORDER BY relname`) {
		name := string(row[0])
		if emptyOnANewServer[name] || len(query(t, conn, "SELECT 1 FROM pg_catalog."+name+" LIMIT 1")) == 0 {
			out.WriteString("\t" + name)
		}
	}
	out.WriteString("\n")
	if err := os.WriteFile("catalogue.tsv", []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// emptyOnANewServer are shared catalogues that the roles and databases of the tests fill.
var emptyOnANewServer = map[string]bool{"pg_db_role_setting": true, "pg_shdepend": true}

func writeRelation(t *testing.T, conn *pgconn.PgConn, out *strings.Builder, name, where string) {
	t.Helper()
	columns := query(t, conn, `SELECT attname, atttypid::regtype::text FROM pg_attribute WHERE attrelid = 'pg_catalog.`+name+`'::regclass AND attnum > 0 ORDER BY attnum`)
	var list []string
	for _, c := range columns {
		item := string(c[0]) + "::text"
		switch string(c[1]) {
		case "regproc":
			item = fmt.Sprintf("CASE WHEN %[1]s = 0 THEN '0 -' ELSE %[1]s::oid || ' ' || %[1]s::text END", c[0])
		case "pg_node_tree":
			if item = "pg_get_expr(" + string(c[0]) + ", 0)"; string(c[0]) == "prosqlbody" {
				item = "NULL" // no expression
			}
		}
		list = append(list, item)
	}
	condition := ""
	if where != "" {
		condition = " WHERE " + where
	}
	rows := query(t, conn, "SELECT "+strings.Join(list, ", ")+" FROM pg_catalog."+name+condition+" ORDER BY ctid")
	fmt.Fprintf(out, "\t%s", name)
	var varying []int
	for i, c := range columns {
		same := true
		for _, row := range rows {
			same = same && escape(row[i]) == escape(rows[0][i])
		}
		if fmt.Fprintf(out, "\t%s", c[0]); same {
			fmt.Fprintf(out, "=%s", escape(rows[0][i]))
			continue
		}
		varying = append(varying, i)
	}
	out.WriteString("\n")
	for _, row := range rows {
		for n, i := range varying {
			if n > 0 {
				out.WriteString("\t")
			}
			out.WriteString(escape(row[i]))
		}
		out.WriteString("\n")
	}
}

func escape(value []byte) string {
	if value == nil {
		return `\N`
	}
	return strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`).Replace(string(value))
}

func query(t *testing.T, conn *pgconn.PgConn, sql string) [][][]byte {
	t.Helper()
	results, err := conn.Exec(context.Background(), sql).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return results[len(results)-1].Rows
}
