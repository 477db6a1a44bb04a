// Command libpq plays the client scenario of ../README.md with lib/pq, the Go driver.
package main

import (
	_ "github.com/lib/pq" // the driver named postgres

	"raisinproxy/testdata/clients/sqlscenario"
)

func main() { sqlscenario.Main("postgres", "libpq") }
