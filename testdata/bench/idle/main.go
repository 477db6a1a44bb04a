// Command idle measures what idle connections cost a server:
//
//	go run ./testdata/bench/idle -url "postgres://alice@127.0.0.1:6433/shop" -pid 4711 -connections 10000
//
// It opens the connections, lets each run one statement, and prints how much the
// resident memory of the process grew for each of them.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"raisinproxy/testdata/bench/proc"
)

func main() {
	url := flag.String("url", "postgres://alice@127.0.0.1:6433/shop?sslmode=disable", "where to connect")
	pid := flag.Int("pid", 0, "the server's process")
	count := flag.Int("connections", 10000, "how many to open")
	sql := flag.String("sql", "SELECT 1", "what each runs first")
	flag.Parse()
	if err := measure(*url, *pid, *count, *sql); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func measure(url string, pid, count int, sql string) error {
	before, err := proc.Resident(pid)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	conns, err := open(ctx, url, count, sql)
	if err != nil {
		return err
	}
	time.Sleep(2 * time.Second) // what is measured is a server at rest
	after, err := proc.Resident(pid)
	if err != nil {
		return err
	}
	fmt.Printf("%d idle connections: %d KiB before, %d KiB after, %.1f KiB for each\n",
		count, before>>10, after>>10, float64(after-before)/float64(count)/1024)
	for _, conn := range conns {
		if err := conn.Close(ctx); err != nil {
			return err
		}
	}
	return nil
}

// open opens the connections, some at a time.
func open(ctx context.Context, url string, count int, sql string) ([]*pgconn.PgConn, error) {
	conns := make([]*pgconn.PgConn, count)
	errs := make(chan error, count)
	next := make(chan int)
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for i := range next {
				conn, err := pgconn.Connect(ctx, url)
				if err == nil {
					_, err = conn.Exec(ctx, sql).ReadAll()
				}
				if err != nil {
					errs <- err
					continue
				}
				conns[i] = conn
			}
		})
	}
	for i := range count {
		next <- i
	}
	close(next)
	group.Wait()
	select {
	case err := <-errs:
		return nil, err
	default:
		return conns, nil
	}
}
