// Command pgxstdlib plays the client scenario of ../README.md with pgx under database/sql.
package main

import (
	_ "github.com/jackc/pgx/v5/stdlib" // the driver named pgx

	"raisinproxy/testdata/clients/sqlscenario"
)

func main() { sqlscenario.Main("pgx", "pgxstdlib") }
