package catalog

import (
	"raisinproxy/planner/clientsql"
	"testing"
)

func TestProbe(t *testing.T) {
	conn := emptyDatabase(t)
	c := comparer{conn: conn, oids: oidsOf(t, conn), session: fixedSession{databaseOf(t, conn)}}
	covered := 0
	for _, a := range clientsql.Answers {
		if a.SQL == "" {
			continue
		}
		q, err := compile(a.SQL)
		if err != nil {
			t.Logf("REFUSED %s: %v", a.Source, err)
			continue
		}
		_ = q
		covered++
		t.Run(a.Source, func(t *testing.T) { c.run(t, testCase{sql: a.SQL}) })
	}
	t.Log(covered, "covered of", len(clientsql.Answers))
}
