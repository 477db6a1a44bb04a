// Command pgx plays the client scenario of ../README.md with pgx's own interface: cached and
// named prepared statements, binary results.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	acquireSQL = "SELECT * FROM raisin_lock_acquire($1, $2)"
	claimSQL   = "SELECT * FROM raisin_inventory_claim($1, $2, $3)"
)

func main() {
	log.SetFlags(0)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if len(os.Args) > 1 && os.Args[1] == "logins" {
		logins(ctx)
		return
	}
	conn, err := pgx.Connect(ctx, "") // everything comes from the PG* variables
	check(err)
	switch {
	case len(os.Args) > 1 && os.Args[1] == "anonymous":
		anonymous(ctx, conn)
	case len(os.Args) > 1 && os.Args[1] == "mixed":
		mixed(ctx, conn)
	case len(os.Args) > 1 && os.Args[1] == "relations":
		relations(ctx, conn)
	default:
		scenario(ctx, conn)
	}
	check(conn.Close(ctx))
}

func scenario(ctx context.Context, conn *pgx.Conn) {
	const key = "seat:pgx"
	row := values(ctx, conn, acquireSQL, key, int64(5000))
	token, isInt := row[2].(int64)
	expires, isTime := row[3].(int64)
	want(isInt && token > 1<<50, "token %v (%T)", row[2], row[2])
	want(isTime && expires > time.Now().UnixMilli(), "expires_at_ms %v (%T)", row[3], row[3])
	want(row[1] == key, "key %v", row[1])
	fmt.Println("acquire:", letter(row[0]))

	row = values(ctx, conn, acquireSQL, key, int64(5000))
	want(row[1] == key && row[2] == nil && row[3] == nil, "refused row %v", row)
	fmt.Println("refused:", letter(row[0]))

	fmt.Println("renew:", letter(values(ctx, conn, "SELECT raisin_lock_renew($1, $2, $3)", key, token, int64(5000))[0]))
	fmt.Println("release:", letter(values(ctx, conn, "SELECT raisin_lock_release($1, $2)", key, token)[0]))
	fmt.Println("release again:", letter(values(ctx, conn, "SELECT raisin_lock_release($1, $2)", key, token)[0]))

	var text string
	var grant struct {
		Acquired bool
		Key      string
		Token    int64
		Expires  int64 `json:"expires_at_ms"`
	}
	check(conn.QueryRow(ctx, "SELECT raisin_lock_acquire($1, $2)", "json:pgx", 5000).Scan(&text))
	check(json.Unmarshal([]byte(text), &grant))
	want(grant.Acquired && grant.Key == "json:pgx" && grant.Token > 1<<50 && grant.Expires > time.Now().UnixMilli(), "json %s", text)
	fmt.Println("json: acquired")
	check(conn.QueryRow(ctx, "SELECT raisin_lock_acquire($1, $2)", "json:pgx", 5000).Scan(&text))
	fmt.Println(text)

	for _, n := range []int64{2, 2, 2, 1, 1} {
		row := values(ctx, conn, claimSQL, "pool:pgx", n, int64(5))
		_, isInt := row[1].(int64)
		want(isInt, "remaining %v (%T)", row[1], row[1])
		fmt.Println("claim:", letter(row[0]), row[1])
	}
	fmt.Println("restock:", values(ctx, conn, "SELECT raisin_inventory_release($1, $2)", "pool:pgx", int64(2))[0])

	_, err := conn.Prepare(ctx, "ten", "SELECT remaining FROM raisin_inventory_claim($1, $2, $3)")
	check(err)
	var left []string
	for range 10 {
		left = append(left, fmt.Sprint(values(ctx, conn, "ten", "ten:pgx", int64(1), int64(10))[0]))
	}
	fmt.Println("prepared:", strings.Join(left, " "))

	tx, err := conn.Begin(ctx)
	check(err)
	_, err = tx.Exec(ctx, acquireSQL, "", int64(5000))
	fmt.Println("error:", sqlState(err))
	_, err = tx.Exec(ctx, "SELECT 1")
	fmt.Println("aborted:", sqlState(err))
	check(tx.Rollback(ctx))
	fmt.Println("alive:", values(ctx, conn, "SELECT 1")[0])
	fmt.Println("done")
}

func anonymous(ctx context.Context, conn *pgx.Conn) {
	_, err := conn.Prepare(ctx, "acquire", acquireSQL)
	check(err)
	_, err = conn.Exec(ctx, "acquire", "seat:pgx", int64(5000))
	fmt.Println(sqlState(err))
	_, err = conn.Exec(ctx, claimSQL, "pool:pgx", int64(1), int64(5))
	fmt.Println(sqlState(err))
	fmt.Println("select:", values(ctx, conn, "SELECT 1")[0])
}

func mixed(ctx context.Context, conn *pgx.Conn) {
	for _, sql := range []string{
		"SET client_min_messages = warning", "DROP SCHEMA IF EXISTS pgx CASCADE", "CREATE SCHEMA pgx", "SET search_path = pgx",
		"CREATE TABLE orders (id serial, flight text, buyer text, seats_left bigint)",
		"CREATE TABLE seats (id text PRIMARY KEY, buyer text, fence bigint)", "INSERT INTO seats VALUES ('14A'), ('14B')",
		"CREATE TABLE jobs (id int, state text)", "INSERT INTO jobs VALUES (1, 'ready'), (2, 'done'), (3, 'ready')",
	} {
		_, err := conn.Exec(ctx, sql)
		check(err)
	}
	for name, sql := range map[string]string{
		"insert": "INSERT INTO orders(flight, buyer, seats_left) SELECT 'AA123', $1, c.remaining FROM raisin_inventory_claim('flight:AA123', 1, 180) c WHERE c.claimed RETURNING id",
		"last":   "INSERT INTO orders(flight, buyer, seats_left) SELECT 'AA124', $1, c.remaining FROM raisin_inventory_claim('flight:AA124', 1, 2) c WHERE c.claimed RETURNING id",
		"update": "WITH l AS (SELECT * FROM raisin_lock_acquire('seat:' || $1, 5000)) UPDATE seats SET buyer = $2, fence = l.token FROM l WHERE l.acquired AND seats.id = $1 AND coalesce(seats.fence, 0) < l.token RETURNING seats.id",
		"rows":   "SELECT id, raisin_lock_acquire('job:' || id, 60000) FROM jobs WHERE state = 'ready' ORDER BY id LIMIT 10",
	} {
		_, err := conn.Prepare(ctx, name, sql)
		check(err)
	}

	for i := range 11 {
		buyer := fmt.Sprint("buyer ", i)
		name := "insert"
		if i >= 7 {
			name = "last"
		}
		found := all(ctx, conn, name, buyer)
		if len(found) == 0 {
			fmt.Println("insert: none")
			continue
		}
		order := values(ctx, conn, "SELECT buyer, seats_left FROM orders WHERE id = $1", found[0][0])
		want(len(found) == 1 && order[0] == buyer, "orders %v %v", found, order)
		fmt.Println("insert:", found[0][0], order[1])
	}

	for i, id := range []string{"14A", "14A", "14B", "14A", "14B", "14A", "14A"} {
		if i == 6 {
			fmt.Println("release:", letter(values(ctx, conn, "SELECT raisin_lock_release('seat:' || id, fence) FROM seats WHERE id = $1", id)[0]))
		}
		buyer := fmt.Sprint("buyer ", i)
		found := all(ctx, conn, "update", id, buyer)
		if len(found) == 0 {
			fmt.Println("update: none")
			continue
		}
		seat := values(ctx, conn, "SELECT buyer, fence FROM seats WHERE id = $1", found[0][0])
		want(len(found) == 1 && seat[0] == buyer && seat[1].(int64) > 1<<50, "seats %v %v", found, seat)
		fmt.Println("update:", found[0][0])
	}

	for i := range 7 {
		if i == 6 {
			_, err := conn.Exec(ctx, "INSERT INTO jobs VALUES (5, 'ready')")
			check(err)
		}
		var text []string
		for _, row := range all(ctx, conn, "rows") {
			grant, isObject := row[1].(map[string]any)
			want(isObject, "grant %v (%T)", row[1], row[1])
			text = append(text, fmt.Sprint(row[0].(int32), " ", letter(grant["acquired"])))
		}
		fmt.Println("rows:", strings.Join(text, ", "))
	}

	tx, err := conn.Begin(ctx)
	check(err)
	_, err = tx.Exec(ctx, "INSERT INTO orders(flight, buyer) VALUES ('AA125', $1)", "nobody")
	check(err)
	_, err = tx.Exec(ctx, "INSERT INTO orders(flight, seats_left) SELECT 'AA125', l.token FROM raisin_lock_acquire($1, 5000) l", "")
	fmt.Println("error:", sqlState(err))
	_, err = tx.Exec(ctx, "SELECT 1")
	fmt.Println("aborted:", sqlState(err))
	check(tx.Rollback(ctx))
	fmt.Println("orders:", values(ctx, conn, "SELECT count(*) FROM orders")[0])
	_, err = conn.Exec(ctx, "DROP SCHEMA pgx CASCADE")
	check(err)
	fmt.Println("done")
}

func relations(ctx context.Context, conn *pgx.Conn) {
	values(ctx, conn, "SELECT raisin_lock_acquire('rel:1', 60000), raisin_lock_acquire('rel:2', 60000), raisin_inventory_claim('rel:p', 2, 10)")
	for _, row := range all(ctx, conn, "SELECT key, kind, waiters FROM raisin_locks($1) WHERE holder = $2 ORDER BY key", "rel:", conn.Config().User) {
		fmt.Println("lock:", row[0], row[1], row[2].(int64))
	}
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeCacheStatement} { // text, and binary
		since, isTime := values(ctx, conn, "SELECT acquired_at FROM raisin_locks($1)", mode, "rel:1")[0].(time.Time)
		want(isTime && time.Since(since).Abs() < 10*time.Minute, "acquired_at %v", since)
	}
	fmt.Println("since: t")
	fmt.Println(append([]any{"pool:"}, values(ctx, conn, "SELECT * FROM raisin_inventory_pools($1)", "rel:")...)...)
	fmt.Println("count:", values(ctx, conn, "SELECT count(*) FROM raisin_locks($1)", "rel:")[0])
	fmt.Println("wrapped:", values(ctx, conn, "SELECT key FROM (SELECT * FROM raisin_locks('rel:')) AS virtual_table ORDER BY key LIMIT 1")[0])
	_, err := conn.Exec(ctx, "SELECT * FROM raisin_locks($1, 1)", "rel:")
	fmt.Println("too many:", sqlState(err))
	fmt.Println("done")
}

// all returns the rows of a statement, in pgx's native types.
func all(ctx context.Context, conn *pgx.Conn, sql string, args ...any) [][]any {
	rows, err := conn.Query(ctx, sql, args...)
	check(err)
	found, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) ([]any, error) { return r.Values() })
	check(err)
	return found
}

// values returns the only row of a statement, in pgx's native types.
func values(ctx context.Context, conn *pgx.Conn, sql string, args ...any) []any {
	found := all(ctx, conn, sql, args...)
	want(len(found) == 1, "%d rows from %s", len(found), sql)
	return found[0]
}

func letter(v any) string {
	b, ok := v.(bool)
	want(ok, "%v is a %T, not a bool", v, v)
	return map[bool]string{true: "t", false: "f"}[b]
}

func sqlState(err error) string {
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pgErr.Code
	}
	return fmt.Sprintf("no SQLSTATE: %v", err)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func want(ok bool, format string, args ...any) {
	if !ok {
		log.Fatalf("unexpected "+format, args...)
	}
}
