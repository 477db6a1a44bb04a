package pgwire_test

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"raisinproxy/pgwire/wiretest"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
)

// The database of this test: stand-ins for the functions, and types of every kind that a
// user can make.
//
//go:embed testdata/types.sql
var typesSQL string

// sweptType is a row of pg_type.
type sweptType struct {
	oid     uint32
	name    string // as SQL has it
	pseudo  bool
	literal bool // it has a value that is written 1
}

// embeddedKnows says whether the type is one that a server without an upstream has: those
// of every PostgreSQL, by the same OID.
func (typ *sweptType) embeddedKnows() bool { return typ.oid < 12000 }

// TestArgumentTypesAsPostgres gives every argument of every function a value of every type
// there is, as a cast literal and as a parameter, in both protocols: what a stand-in in
// PostgreSQL takes is taken, with an upstream and without, and what it refuses is refused
// in the same words.
func TestArgumentTypesAsPostgres(t *testing.T) {
	upstream := typesDatabase(t)
	direct := connectURL(t, upstream)
	behind := startServer(t, map[string]string{"upstream": upstream, "admin": "alice"})
	proxied := connectURL(t, "postgres://alice@"+behind.addr+"/"+typesName+"?sslmode=disable")
	alone := startServer(t, map[string]string{"admin": "alice"})
	embedded := connectURL(t, "postgres://alice@"+alone.addr+"/shop?sslmode=disable")
	for _, typ := range sweptTypes(t, direct) {
		for _, s := range typ.statements() {
			behind.clock.Advance(time.Second) // nothing is held any more
			alone.clock.Advance(time.Second)
			want := s.outcome(t, direct)
			if got := s.outcome(t, proxied); got != want {
				t.Errorf("%s: %s\n with an upstream: %s\n       PostgreSQL: %s", typ.name, s, got, want)
			}
			if !typ.embeddedKnows() || typ.pseudo && s.oid == 0 {
				continue
			}
			if got := s.outcome(t, embedded); got != want {
				t.Errorf("%s: %s\n         embedded: %s\n       PostgreSQL: %s", typ.name, s, got, want)
			}
		}
	}
}

const typesName = "raisin_types"

// typesDatabase makes the database and returns a superuser's URL of it.
func typesDatabase(t *testing.T) string {
	wiretest.Exclusive(t)
	admin := connectURL(t, wiretest.PostgresURL(t))
	mustExec(t, admin, "DROP DATABASE IF EXISTS "+typesName+" WITH (FORCE)")
	mustExec(t, admin, "CREATE DATABASE "+typesName)
	t.Cleanup(func() {
		if _, err := admin.Exec(context.Background(), "DROP DATABASE "+typesName+" WITH (FORCE)").ReadAll(); err != nil {
			t.Error(err)
		}
	})
	server, err := url.Parse(wiretest.PostgresURL(t))
	if err != nil {
		t.Fatal(err)
	}
	server.Path = "/" + typesName
	mustExec(t, connectURL(t, server.String()), typesSQL)
	return server.String()
}

func connectURL(t *testing.T, address string) *pgconn.PgConn {
	t.Helper()
	conn, err := pgconn.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func mustExec(t *testing.T, conn *pgconn.PgConn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql).ReadAll(); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// sweptTypes are those of pg_type, and one that does not exist. Of the row types of the
// catalogue, which differ in nothing, one stands for all.
func sweptTypes(t *testing.T, conn *pgconn.PgConn) []*sweptType {
	t.Helper()
	result := conn.ExecParams(t.Context(), `
		SELECT t.oid, pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(t.typname), t.typtype = 'p'
		FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace LEFT JOIN pg_type e ON e.oid = t.typelem
		WHERE coalesce(nullif(t.typrelid, 0), e.typrelid, 0) IN (0, 'pg_class'::regclass, 'pg_views'::regclass) OR t.oid >= 16384
		ORDER BY t.oid`, nil, nil, nil, nil).Read()
	if result.Err != nil {
		t.Fatal(result.Err)
	}
	var types []*sweptType
	for _, row := range result.Rows {
		oid, err := strconv.ParseUint(string(row[0]), 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		typ := &sweptType{oid: uint32(oid), name: string(row[1]), pseudo: string(row[2]) == "t"}
		_, err = conn.Exec(t.Context(), "SELECT '1'::"+typ.name).ReadAll()
		typ.literal = err == nil
		types = append(types, typ)
	}
	const users, fewest = 30, 200
	if len(types) < fewest || types[len(types)-users].embeddedKnows() {
		t.Fatalf("only %d types", len(types))
	}
	return append(types, &sweptType{oid: 4000000000})
}

// typedStatement is a call with an argument of some type.
type typedStatement struct {
	sql      string
	oid      uint32 // of $1; 0: there is no parameter
	value    []byte
	extended bool
}

func (s *typedStatement) String() string {
	if s.oid == 0 {
		return s.sql
	}
	return fmt.Sprintf("%s, $1 of type %d = %q", s.sql, s.oid, s.value)
}

// statements are the calls in which one argument is of type typ.
func (typ *sweptType) statements() (statements []*typedStatement) {
	seen := map[string]bool{}
	for _, f := range sqlfuncs.Functions {
		before, _ := around(f, len(f.Args))
		if f.Set || seen[before] {
			continue // its arguments are like those of others
		}
		seen[before] = true
		for varied := range f.Args {
			before, after := around(f, varied)
			statements = append(statements, typ.call("SELECT "+f.Name+before, "NULL", nil, after)...)
			if typ.literal && varied < 2 {
				statements = append(statements, typ.call("SELECT * FROM "+f.Name+before, "'1'", []byte("1"), after)...)
			}
		}
	}
	return statements
}

// around are the arguments before and after one of them, with their brackets.
func around(f *sqlfuncs.Function, varied int) (before, after string) {
	args := make([]string, len(f.Args))
	for i, arg := range f.Args {
		switch args[i] = "1"; arg.Type {
		case datum.Text:
			args[i] = "'k'"
		case datum.TextArray:
			args[i] = "'{k}'"
		}
	}
	before, after = strings.Join(args[:varied], ", "), strings.Join(args[min(varied+1, len(args)):], ", ")
	if before != "" {
		before += ", "
	}
	if after != "" {
		after = ", " + after
	}
	return "(" + before, after + ")"
}

// call gives the argument as a cast literal, in both protocols, and as a parameter.
func (typ *sweptType) call(before, literal string, value []byte, after string) (statements []*typedStatement) {
	if typ.name != "" {
		cast := before + literal + "::" + typ.name + after
		statements = append(statements, &typedStatement{sql: cast}, &typedStatement{sql: cast, extended: true})
	}
	return append(statements, &typedStatement{sql: before + "$1" + after, oid: typ.oid, value: value, extended: true})
}

// outcome is the error of a statement, in full if it is about types, or the key that a
// lock was taken for.
func (s *typedStatement) outcome(t *testing.T, conn *pgconn.PgConn) string {
	t.Helper()
	var results []*pgconn.Result
	var err error
	switch {
	case !s.extended:
		results, err = conn.Exec(t.Context(), s.sql).ReadAll()
	case s.oid == 0:
		results = []*pgconn.Result{conn.ExecParams(t.Context(), s.sql, nil, nil, nil, nil).Read()}
		err = results[0].Err
	default:
		results = []*pgconn.Result{conn.ExecParams(t.Context(), s.sql, [][]byte{s.value}, []uint32{s.oid}, nil, nil).Read()}
		err = results[0].Err
	}
	report, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case err != nil && !ok:
		t.Fatalf("%s: %v", s, err)
	case err != nil && report.Code[:2] == "42":
		return fmt.Sprintf("%s %s, at %d: %s", report.Code, report.Message, report.Position, report.Hint)
	case err != nil:
		return report.Code
	case len(results[0].Rows) != 1:
		return fmt.Sprintf("%d rows", len(results[0].Rows))
	}
	if strings.HasPrefix(s.sql, "SELECT * FROM raisin_lock_acquire(") {
		return "key " + cmp.Or(string(results[0].Rows[0][1]), "''")
	}
	return "taken"
}
