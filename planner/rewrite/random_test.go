package rewrite

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"raisinproxy/sqlfuncs"
)

// TestRandomRewritesOnPostgres makes statements of all kinds of parts and runs each
// directly, with the stand-ins, and rewritten. What is not refused by the rules of
// where a call may stand must end alike, errors too.
func TestRandomRewritesOnPostgres(t *testing.T) {
	conn := rewriteServer(t)
	outcomes := map[string]int{}
	for seed := range uint64(500) {
		g := &statementMaker{Rand: rand.New(rand.NewPCG(seed, 1))}
		test := rewriteCase{sql: g.numbered(g.statement()), after: "SELECT buyer, fence FROM seats ORDER BY id"}
		test.params = strings.Repeat("7 ", g.params)
		direct := runRewriteCase(t, conn, test, executeDirectly)
		rewritten := runRewriteCase(t, conn, test, executeRewritten)
		outcomes[outcome(rewritten)]++
		switch {
		case direct == rewritten, strings.HasPrefix(rewritten, "error: 0A000"):
		case strings.HasPrefix(direct, "error:") && outcome(direct) == outcome(rewritten), outcome(direct) == "42P08":
			// A parameter is used as text and as a number at once, or two things are
			// wrong: which is found first depends on the order of the arguments.
		default:
			t.Errorf("seed %d: %s\n directly %s\nrewritten %s", seed, test.sql, direct, rewritten)
		}
	}
	if outcomes["executed"] < 250 {
		t.Errorf("too few statements could be executed: %v", outcomes)
	}
}

func outcome(s string) string {
	if code, ok := strings.CutPrefix(s, "error: "); ok {
		return code[:5]
	}
	return "executed"
}

type statementMaker struct {
	*rand.Rand
	params int
	rows   bool // columns of jobs can be named
}

func (g *statementMaker) pick(options ...string) string { return options[g.IntN(len(options))] }

// param stands for a parameter until the statement is complete.
func (g *statementMaker) param() string { return "$?" }

func (g *statementMaker) numbered(sql string) string {
	for strings.Contains(sql, "$?") {
		number := g.params + 1
		if g.params > 0 && g.IntN(3) == 0 {
			number = 1 + g.IntN(g.params)
		}
		g.params = max(g.params, number)
		sql = strings.Replace(sql, "$?", fmt.Sprintf("$%d", number), 1)
	}
	return sql
}

func (g *statementMaker) text() string {
	switch g.IntN(8) {
	case 0, 1:
		return g.param()
	case 2:
		return "'x' || " + g.pick(g.param()+"::text", "'y' /* ) */", "7")
	case 3:
		return g.pick("(SELECT max(name) FROM jobs)", "(SELECT name FROM jobs j WHERE j.id = 1)", "upper('a')", "5", "NULL")
	case 4:
		if g.rows {
			return g.pick("name", "j.state", "'job' || id", "j.nope")
		}
	}
	return g.pick("'k'", "'it''s'", "E'a\\'b'", "$q$a,b($q$", "'ü'", "'a'::varchar(3)")
}

func (g *statementMaker) number() string {
	switch g.IntN(8) {
	case 0, 1:
		return g.param()
	case 2:
		return g.pick("(SELECT count(*) FROM jobs)", "1 + 2", "'5'", "2::int2", "1.5", "- 3", "'x'")
	case 3:
		if g.rows {
			return g.pick("id", "n", "j.id + 1")
		}
	}
	return g.pick("1", "5000", "9007199254740992")
}

// call is a call of a function of one column, or of several.
func (g *statementMaker) call(several bool) string {
	name := g.pick("raisin_lock_release", "raisin_lock_renew", "raisin_inventory_release")
	if several {
		name = g.pick("raisin_lock_acquire", "raisin_inventory_claim")
	}
	f, _ := sqlfuncs.Lookup(name)
	args := make([]string, len(f.Args))
	named := g.IntN(4) == 0
	for i, arg := range f.Args {
		value := g.number()
		if i == 0 {
			value = g.text()
		}
		if args[i] = value; named {
			args[i] = arg.Name + g.pick(" => ", ":=", "=>") + value
		}
	}
	if named {
		g.Shuffle(len(args), func(i, j int) { args[i], args[j] = args[j], args[i] })
	}
	return g.pick("", "", "public.") + g.pick(name, name, strings.ToUpper(name), `"`+name+`"`) + g.pick("(", " ( ", "(/*,*/") + strings.Join(args, g.pick(",", ", ", " -- x\n, ")) + ")"
}

// item is an item of a SELECT list with a call in it.
func (g *statementMaker) item() string {
	var item string
	switch g.IntN(4) {
	case 0:
		item = "(" + g.call(true) + ")." + g.pick("token", "remaining", "*", "*", "key", "claimed")
	case 1:
		item = g.pick("((", "( (") + g.call(false) + "))"
	default:
		item = g.call(false)
	}
	if !strings.HasSuffix(item, "*") {
		item += g.pick("", "", "", "::text", "::text::varchar(2)")
		if g.IntN(4) == 0 {
			item = "CAST(" + item + " AS text)"
		}
		item += g.pick("", "", "", " AS x", ` "y z"`, " AS from")
	}
	return item
}

func (g *statementMaker) list() string {
	items := []string{g.item()}
	for range g.IntN(3) {
		items = append(items, g.pick(g.item(), "1", "'a' AS b", g.param()+"::date IS NULL", "now() IS NULL"))
	}
	if g.rows {
		items = append(items, g.pick("j.*", "id", "name AS n2"))
	}
	g.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	return strings.Join(items, g.pick(",", ", "))
}

// fromCall is a call as an item of FROM, with alias c unless it is to have none.
func (g *statementMaker) fromCall() string {
	return g.pick("", "", "LATERAL ") + g.call(g.IntN(3) > 0) + g.pick(" c", " c", " AS c", "c", " c(a)", "")
}

func (g *statementMaker) condition() string {
	return g.pick("true", "1 = 1", "NOT EXISTS (SELECT 1 FROM jobs WHERE id = 70)", g.pick("c IS NOT NULL", "claimed", "token > 5"),
		g.param()+" = 7", "(1 BETWEEN 0 AND 2 AND 2 = 2)", "CASE WHEN true AND true THEN 1 = 1 END", "EXISTS (SELECT 1 FROM seats s WHERE s.fence = 7)",
		"1 = 2", "length('x') = 1")
}

func (g *statementMaker) where() string {
	if g.IntN(2) == 0 {
		return ""
	}
	conditions := []string{g.condition()}
	for range g.IntN(3) {
		conditions = append(conditions, g.condition())
	}
	return g.pick(" WHERE ", "\nwhere ") + strings.Join(conditions, g.pick(" AND ", "\nand "))
}

func (g *statementMaker) fromSelect() string {
	from := g.fromCall()
	switch g.IntN(5) {
	case 0:
		from = "jobs j, " + from
	case 1:
		from += " JOIN jobs j ON j.id = 1"
	case 2:
		from = "(SELECT * FROM " + from + g.where() + ") c LEFT JOIN jobs j ON true"
	}
	return "SELECT " + g.pick("*", "c.*", "1", "c.*, ROW(c.*)", "count(*)", "c") + " FROM " + from + g.where() + g.pick("", " LIMIT 2", " FOR SHARE")
}

func (g *statementMaker) statement() string {
	switch g.IntN(8) {
	case 0:
		g.rows = true
		return "SELECT " + g.list() + g.pick(" FROM jobs j", " FROM jobs AS j ") + g.pick("", " ORDER BY n, name", " WHERE id < 4 LIMIT 2", " ORDER BY 1")
	case 1:
		return "SELECT " + g.list() + g.where()
	case 2:
		return "INSERT INTO seats(id, fence) SELECT 'new', " + g.call(false) + g.pick("", "::int8") + g.where() + g.pick(" ON CONFLICT DO NOTHING", " RETURNING *", "")
	case 3:
		return "INSERT INTO seats VALUES ('new', " + g.pick("NULL", g.param()) + ", " + g.pick(g.call(false), "("+g.call(true)+").token") + ") " + g.pick("", "RETURNING id")
	case 4:
		return "UPDATE seats SET fence = 5 FROM " + g.fromCall() + g.where() + g.pick("", " RETURNING seats.id")
	case 5:
		return "WITH w AS (" + g.fromSelect() + ") SELECT * FROM w" + g.pick("", ", jobs ORDER BY jobs.id")
	case 6:
		return "DELETE FROM seats USING " + g.fromCall() + g.where()
	}
	return g.fromSelect()
}
