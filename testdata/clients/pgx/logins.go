package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
)

// logins connects once for each line of its input, which has the PG* variables, and takes a lock.
func logins(ctx context.Context) {
	n := 0
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		n++
		for variable := range strings.SplitSeq(lines.Text(), "\t") {
			name, value, _ := strings.Cut(variable, "=")
			check(os.Setenv(name, value))
		}
		fmt.Println(login(ctx, fmt.Sprint("login:", n)))
	}
}

func login(ctx context.Context, key string) string {
	conn, err := pgx.Connect(ctx, "")
	if err != nil {
		return "refused: " + sqlState(err)
	}
	defer conn.Close(ctx)
	var acquired bool
	if err := conn.QueryRow(ctx, "SELECT acquired FROM raisin_lock_acquire($1, $2)", key, 5000).Scan(&acquired); err != nil {
		return "connected: " + sqlState(err)
	}
	return "connected: " + letter(acquired)
}
