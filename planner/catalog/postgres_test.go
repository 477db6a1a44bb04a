package catalog

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"raisinproxy/pgwire/wiretest"
)

func TestMain(m *testing.M) { wiretest.Main(m) }

// emptyDatabase is a connection to a database that sorts as an embedded server does.
func emptyDatabase(t *testing.T) *pgconn.PgConn {
	t.Helper()
	admin := connect(t, "")
	name := fmt.Sprintf("catalog_%d", os.Getpid())
	exec(t, admin, "CREATE DATABASE "+name+" ENCODING 'UTF8' LC_COLLATE 'C.UTF-8' LC_CTYPE 'C.UTF-8' TEMPLATE template0")
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

func exec(t *testing.T, conn *pgconn.PgConn, sql string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := conn.Exec(ctx, sql).ReadAll(); err != nil {
		t.Fatal(err)
	}
}
