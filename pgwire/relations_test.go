package pgwire_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// relationQueries are queries over the rows of raisin_locks(), which @ stands for.
var relationQueries = []string{
	`SELECT * FROM @ l ORDER BY key`,
	`SELECT l.acquired_at, expires_at AS until, token FROM @ AS l WHERE token IS NOT NULL ORDER BY l.expires_at DESC, key DESC`,
	`SELECT count(*), count(token), min(acquired_at), max(expires_at), max(key), min(token), sum(token), sum(waiters) FROM @ l`,
	`SELECT holder, count(*) AS n FROM @ l GROUP BY holder HAVING count(*) >= 1 ORDER BY n DESC, holder`,
	`SELECT key FROM @ l WHERE key LIKE 'job:%' AND NOT kind = 'x' ORDER BY key LIMIT 2 OFFSET 1`,
	`SELECT key FROM @ l WHERE token IN (SELECT max(token) FROM @ m)`,
	`SELECT a.key, b.key FROM @ a JOIN @ b ON a.holder = b.holder AND a.key < b.key ORDER BY 1, 2`,
	`SELECT a.key, b.key FROM @ a LEFT JOIN @ b ON b.token > a.token AND b.holder = 'alice' ORDER BY 1, 2`,
	`SELECT * FROM (SELECT key, acquired_at FROM @ l) AS virtual_table ORDER BY key LIMIT 1001`,
	`WITH l AS (SELECT * FROM @ x) SELECT DISTINCT holder, waiters, kind FROM l ORDER BY holder`,
	`SELECT key, 1 AS n FROM @ l UNION ALL SELECT holder, 2 FROM @ l ORDER BY 1, 2`,
	`SELECT key || '!' AS k, upper(holder), token IS NULL, CASE WHEN waiters = 0 THEN 'free' ELSE 'busy' END, coalesce(id, '-') FROM @ l ORDER BY 1`,
	`SELECT x.k FROM @ AS x(k, h) WHERE h <> 'alice' ORDER BY k`,
	`SELECT count(*) FROM @ a WHERE EXISTS (SELECT 1 FROM @ b WHERE b.acquired_at >= a.acquired_at AND b.key <> a.key)`,
	`SELECT key FROM @ l WHERE false`,
	`SELECT sum(token), count(*) FROM @ l WHERE false`,
	`SELECT key FROM @ l WHERE acquired_at > expires_at`,
	`SELECT nothing FROM @ l`,
	`SELECT l.key FROM @ l GROUP BY holder`,
}

// TestRelations: a query over the rows of a function gives what PostgreSQL gives of a table with the
// same rows, in text and in binary, with an upstream and without.
func TestRelations(t *testing.T) {
	server, direct := startProxied(t)
	embedded := connect(t, startServer(t, nil).addr, "alice")
	proxied := connect(t, server.addr, "alice")
	for _, conn := range []*pgconn.PgConn{embedded, proxied} {
		mustExec(t, conn, `SELECT raisin_lock_acquire('job:1', 60000), raisin_lock_acquire('job:2', 120000), raisin_lock_acquire('job:3', 90000), raisin_lock_acquire('"quoted", {in} \ NULL', 60000)`)
	}
	for name, conn := range map[string]*pgconn.PgConn{"embedded": embedded, "proxied": proxied} {
		t.Run(name, func(t *testing.T) {
			copyLocks(t, conn, direct)
			sets := []string{"SET TimeZone = 'UTC'", "SET TimeZone = 'Asia/Kathmandu'", "SET TimeZone = 'America/New_York'", "SET TIME ZONE -3"}
			if name == "proxied" { // where the upstream writes them
				sets = append(sets, "SET DateStyle = 'Postgres, DMY'", "SET DateStyle = 'SQL'")
			}
			for _, set := range append(sets, "RESET ALL") {
				mustExec(t, conn, set)
				mustExec(t, direct, set)
				for _, sql := range relationQueries {
					for _, format := range []int16{pgtype.TextFormatCode, pgtype.BinaryFormatCode} {
						want := relationResult(t, direct, strings.ReplaceAll(sql, "@", "copied_locks"), format)
						got := relationResult(t, conn, strings.ReplaceAll(sql, "@", "raisin_locks()"), format)
						refused := name == "embedded" && strings.HasPrefix(want, "42") && got == "0A000"
						if got != want && !refused {
							t.Errorf("%s, format %d\n%s\nPostgreSQL:\n%s", sql, format, got, want)
						}
					}
				}
			}
		})
	}
}

// copyLocks makes a table with the rows of raisin_locks().
func copyLocks(t *testing.T, from, to *pgconn.PgConn) {
	t.Helper()
	mustExec(t, to, `DROP TABLE IF EXISTS copied_locks; CREATE TEMP TABLE copied_locks (key text COLLATE "C", holder text COLLATE "C", token int8, acquired_at timestamptz,
		expires_at timestamptz, waiters int8, kind text)`)
	all := from.ExecParams(t.Context(), "SELECT * FROM raisin_locks()", nil, nil, nil, nil).Read()
	if all.Err != nil || len(all.Rows) != 4 {
		t.Fatalf("%d rows, %v", len(all.Rows), all.Err)
	}
	for _, row := range all.Rows {
		if err := to.ExecParams(t.Context(), "INSERT INTO copied_locks VALUES ($1, $2, $3, $4, $5, $6, $7)", row, nil, nil, nil).Read().Err; err != nil {
			t.Fatal(err)
		}
	}
}

// relationResult shows the columns, their types and the values, or the code of the error.
func relationResult(t *testing.T, conn *pgconn.PgConn, sql string, format int16) string {
	t.Helper()
	result := conn.ExecParams(t.Context(), sql, nil, nil, nil, []int16{format}).Read()
	if result.Err != nil {
		return codeOf(result.Err)
	}
	var out strings.Builder
	for _, f := range result.FieldDescriptions {
		fmt.Fprintf(&out, "%s %d %d; ", f.Name, f.DataTypeOID, f.TypeModifier)
	}
	for _, row := range result.Rows {
		fmt.Fprintf(&out, "\n%q", row)
	}
	return out.String()
}

func codeOf(err error) string {
	told, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return err.Error()
	}
	return told.Code
}
