// Package sqlscenario is the client scenario of ../README.md over database/sql, for the
// drivers that offer nothing else (lib/pq) or this beside their own interface (pgx).
package sqlscenario

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"time"
)

const (
	acquireSQL = "SELECT * FROM raisin_lock_acquire($1, $2)"
	claimSQL   = "SELECT * FROM raisin_inventory_claim($1, $2, $3)"
)

// Main runs the scenario, or its anonymous form when the first argument says so, with the named
// database/sql driver. name is the client's name in keys and pools. It ends the process on failure.
func Main(driver, name string) {
	log.SetFlags(0)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	db, err := sql.Open(driver, "") // everything comes from the PG* variables
	check(err)
	check(db.PingContext(ctx))
	if len(os.Args) > 1 && os.Args[1] == "anonymous" {
		anonymous(ctx, db, name)
	} else {
		scenario(ctx, db, name)
	}
	check(db.Close())
}

func scenario(ctx context.Context, db *sql.DB, name string) {
	key := "seat:" + name
	row := values(ctx, db, acquireSQL, key, 5000)
	token, isInt := row[2].(int64)
	expires, isTime := row[3].(int64)
	want(isInt && token > 1<<50, "token %v (%T)", row[2], row[2])
	want(isTime && expires > time.Now().UnixMilli(), "expires_at_ms %v (%T)", row[3], row[3])
	want(row[1] == key, "key %v (%T)", row[1], row[1])
	fmt.Println("acquire:", letter(row[0]))

	row = values(ctx, db, acquireSQL, key, 5000)
	want(row[1] == key && row[2] == nil && row[3] == nil, "refused row %v", row)
	fmt.Println("refused:", letter(row[0]))

	fmt.Println("renew:", letter(values(ctx, db, "SELECT raisin_lock_renew($1, $2, $3)", key, token, 5000)[0]))
	fmt.Println("release:", letter(values(ctx, db, "SELECT raisin_lock_release($1, $2)", key, token)[0]))
	fmt.Println("release again:", letter(values(ctx, db, "SELECT raisin_lock_release($1, $2)", key, token)[0]))

	var text []byte
	var grant struct {
		Acquired bool
		Key      string
		Token    int64
		Expires  int64 `json:"expires_at_ms"`
	}
	check(db.QueryRowContext(ctx, "SELECT raisin_lock_acquire($1, $2)", "json:"+name, 5000).Scan(&text))
	check(json.Unmarshal(text, &grant))
	want(grant.Acquired && grant.Key == "json:"+name && grant.Token > 1<<50 && grant.Expires > time.Now().UnixMilli(), "json %s", text)
	fmt.Println("json: acquired")
	check(db.QueryRowContext(ctx, "SELECT raisin_lock_acquire($1, $2)", "json:"+name, 5000).Scan(&text))
	fmt.Println(string(text))

	for _, n := range []int{2, 2, 2, 1, 1} {
		row := values(ctx, db, claimSQL, "pool:"+name, n, 5)
		_, isInt := row[1].(int64)
		want(isInt, "remaining %v (%T)", row[1], row[1])
		fmt.Println("claim:", letter(row[0]), row[1])
	}
	fmt.Println("restock:", values(ctx, db, "SELECT raisin_inventory_release($1, $2)", "pool:"+name, 2)[0])

	ten, err := db.PrepareContext(ctx, "SELECT remaining FROM raisin_inventory_claim($1, $2, $3)")
	check(err)
	var left []string
	for range 10 {
		var n int64
		check(ten.QueryRowContext(ctx, "ten:"+name, 1, 10).Scan(&n))
		left = append(left, fmt.Sprint(n))
	}
	check(ten.Close())
	fmt.Println("prepared:", strings.Join(left, " "))

	tx, err := db.BeginTx(ctx, nil)
	check(err)
	_, err = tx.ExecContext(ctx, acquireSQL, "", 5000)
	fmt.Println("error:", sqlState(err))
	_, err = tx.ExecContext(ctx, "SELECT 1")
	fmt.Println("aborted:", sqlState(err))
	check(tx.Rollback())
	fmt.Println("alive:", values(ctx, db, "SELECT 1")[0])
	fmt.Println("done")
}

func anonymous(ctx context.Context, db *sql.DB, name string) {
	acquire, err := db.PrepareContext(ctx, acquireSQL)
	check(err)
	_, err = acquire.ExecContext(ctx, "seat:"+name, 5000)
	fmt.Println(sqlState(err))
	check(acquire.Close())
	_, err = db.ExecContext(ctx, claimSQL, "pool:"+name, 1, 5)
	fmt.Println(sqlState(err))
	fmt.Println("select:", values(ctx, db, "SELECT 1")[0])
}

// values returns the only row of a statement, in the driver's native types.
func values(ctx context.Context, db *sql.DB, query string, args ...any) []any {
	rows, err := db.QueryContext(ctx, query, args...)
	check(err)
	names, err := rows.Columns()
	check(err)
	row := make([]any, len(names))
	into := make([]any, len(names))
	for i := range row {
		into[i] = &row[i]
	}
	n := 0
	for ; rows.Next(); n++ {
		check(rows.Scan(into...))
	}
	check(rows.Err())
	want(n == 1, "%d rows from %s", n, query)
	return row
}

func letter(v any) string {
	b, ok := v.(bool)
	want(ok, "%v is a %T, not a bool", v, v)
	return map[bool]string{true: "t", false: "f"}[b]
}

func sqlState(err error) string {
	var withState interface{ SQLState() string }
	if errors.As(err, &withState) {
		return withState.SQLState()
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
