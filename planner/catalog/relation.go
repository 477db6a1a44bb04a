package catalog

import (
	"slices"
	"strings"
	"sync"

	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
)

// readable says whether the rows of a relation are known.
func (r *relation) readable() bool { return r.stored != nil || r.dynamic != nil || r.view != nil }

// relationRows are the rows of a relation, those that depend on the session too.
func (x *execution) relationRows(r *relation) ([][]datum.Datum, error) {
	rows, err := x.keep(r, func() (any, error) {
		if r.view != nil {
			return r.viewRows(x)
		}
		var rows [][]datum.Datum
		if r.stored != nil {
			rows = r.stored()
		}
		if r.dynamic == nil {
			return rows, nil
		}
		return slices.Concat(rows, r.dynamicRows(x.session)), nil
	})
	if err != nil {
		return nil, err
	}
	all, _ := rows.([][]datum.Datum)
	return all, nil
}

// record is a row by the names of its columns; what it does not name is NULL.
type record map[string]datum.Datum

func (r *relation) dynamicRows(s Session) [][]datum.Datum {
	var rows [][]datum.Datum
	for _, rec := range r.dynamic(s) {
		row := make([]datum.Datum, len(r.columns))
		for i, col := range r.columns {
			d, ok := rec[col.name]
			if row[i] = d; !ok {
				row[i] = datum.Null
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// dynamic are the catalogues whose rows depend on the session or on the product, and
// the columns of them that are not known here.
var dynamic = map[string]struct {
	rows   func(Session) []record
	hidden []string
}{
	"pg_database":       {databases, nil},
	"pg_cursors":        {func(Session) []record { return nil }, nil}, // DECLARE is refused
	"pg_prepared_xacts": {func(Session) []record { return nil }, nil},
	"pg_roles":          {roles, nil},
	"pg_user":           {users, nil},
	"pg_proc":           {functions, []string{"prosqlbody"}},
	"pg_description":    {comments, nil},
	"pg_settings":       {settings, []string{"category", "extra_desc", "source", "boot_val", "reset_val", "sourcefile", "sourceline"}},
}

func text(s string) datum.Datum { return datum.OfText(s) }

func number(n int64) datum.Datum { return datum.OfInt(n) }

// firstOID is where the OIDs of what is not PostgreSQL's own begin.
const firstOID = 16384

const (
	ownerOID  = 10 // of the role that has made the server
	publicOID = 2200
	utf8      = 6 // PostgreSQL's number of the encoding
)

// databases are those of a new server and the one that the client is in: an embedded
// server takes any name.
func databases(s Session) []record {
	names := []string{"postgres", "template1", "template0"}
	oids := []int64{5, 1, 4}
	if !slices.Contains(names, s.Database()) {
		names, oids = append(names, s.Database()), append(oids, firstOID)
	}
	var all []record
	for i, name := range names {
		rec := record{
			"oid": number(oids[i]), "datname": text(name), "datdba": number(ownerOID), "encoding": number(utf8), "datlocprovider": text("c"),
			"datistemplate": datum.OfBool(strings.HasPrefix(name, "template")), "datallowconn": datum.OfBool(name != "template0"), "datconnlimit": number(-1),
			"datfrozenxid": text("716"), "datminmxid": text("1"), "dattablespace": number(1663), "datcollate": text("C.UTF-8"), "datctype": text("C.UTF-8"),
		}
		if strings.HasPrefix(name, "template") {
			rec["datacl"] = text("{=c/postgres,postgres=CTc/postgres}")
		}
		all = append(all, rec)
	}
	return all
}

// predefined are the roles that PostgreSQL 15 has made for itself.
var predefined = []struct {
	name string
	oid  int64
}{
	{"postgres", ownerOID},
	{"pg_database_owner", 6171}, {"pg_read_all_data", 6181}, {"pg_write_all_data", 6182}, {"pg_monitor", 3373},
	{"pg_read_all_settings", 3374}, {"pg_read_all_stats", 3375}, {"pg_stat_scan_tables", 3377}, {"pg_read_server_files", 4569},
	{"pg_write_server_files", 4570}, {"pg_execute_server_program", 4571}, {"pg_signal_backend", 4200}, {"pg_checkpoint", 4544},
}

const userOID = firstOID - 1

// roles are PostgreSQL's own and that of the session.
func roles(s Session) []record {
	var all []record
	add := func(name string, oid int64) {
		super := datum.OfBool(oid == ownerOID)
		login := datum.OfBool(oid == ownerOID || oid == userOID)
		all = append(all, record{
			"rolname": text(name), "rolsuper": super, "rolinherit": datum.OfBool(true), "rolcreaterole": super, "rolcreatedb": super,
			"rolcanlogin": login, "rolreplication": super, "rolconnlimit": number(-1), "rolpassword": text("********"),
			"rolbypassrls": super, "oid": number(oid),
		})
	}
	known := false
	for _, role := range predefined {
		add(role.name, role.oid)
		known = known || role.name == s.User()
	}
	if !known {
		add(s.User(), userOID)
	}
	return all
}

// users are the roles that may log in.
func users(s Session) []record {
	var all []record
	for _, r := range roles(s) {
		if r["rolcanlogin"].Bool() {
			all = append(all, record{
				"usename": r["rolname"], "usesysid": r["oid"], "usecreatedb": r["rolcreatedb"], "usesuper": r["rolsuper"],
				"userepl": r["rolreplication"], "usebypassrls": r["rolbypassrls"], "passwd": r["rolpassword"],
			})
		}
	}
	return all
}

// roleName is "" for a role that does not exist.
func (x *execution) roleName(oid uint32) string {
	for _, r := range roles(x.session) {
		if r["oid"].Int == int64(oid) {
			return r["rolname"].Str
		}
	}
	return ""
}

// internalLanguage is the language of the functions that are part of the server.
const internalLanguage = 12

// typeRecord is the result type of a function of several columns.
const typeRecord = 2249

// functions are the product's own, as the stubs declare them.
func functions(Session) []record {
	var all []record
	for _, f := range sqlfuncs.Functions {
		var oids, names, modes, defaults []string
		for _, arg := range f.Args {
			if arg.Default != nil {
				defaults = append(defaults, arg.DefaultSQL())
			}
			oids, names, modes = append(oids, itoa(int64(arg.Type))), append(names, arg.Name), append(modes, "i")
		}
		rec := record{
			"oid": number(functionOID(f)), "proname": text(f.Name), "pronamespace": number(publicOID), "proowner": number(ownerOID),
			"prolang": number(internalLanguage), "procost": text("100"), "prorows": text("0"), "provariadic": number(0),
			"prosupport": datum.Datum{Str: "-"}, "prokind": text("f"), "prosecdef": datum.OfBool(false), "proleakproof": datum.OfBool(false),
			"proisstrict": datum.OfBool(false), "proretset": datum.OfBool(len(f.Columns) > 1), "provolatile": text("v"), "proparallel": text("u"),
			"pronargs": number(int64(len(f.Args))), "pronargdefaults": number(0), "prorettype": number(int64(f.Columns[0].Type)),
			"proargtypes": text(strings.Join(oids, " ")), "prosrc": text(f.Name),
		}
		if len(f.Columns) > 1 {
			for _, col := range f.Columns {
				oids, names, modes = append(oids, itoa(int64(col.Type))), append(names, col.Name), append(modes, "t")
			}
			rec["prorettype"], rec["prorows"] = number(typeRecord), text("1000")
			rec["proallargtypes"], rec["proargmodes"] = list(oids), list(modes)
		}
		rec["proargnames"] = list(names)
		if defaults != nil {
			rec["pronargdefaults"], rec["proargdefaults"] = number(int64(len(defaults))), text(strings.Join(defaults, ", "))
		}
		all = append(all, rec)
	}
	return all
}

func list(items []string) datum.Datum { return text("{" + strings.Join(items, ",") + "}") }

// comments are those of the product's functions.
func comments(Session) []record {
	var all []record
	proc := classOID("pg_proc")
	for _, f := range sqlfuncs.Functions {
		all = append(all, record{"objoid": number(functionOID(f)), "classoid": number(proc), "objsubid": number(0), "description": text(f.Comment)})
	}
	return all
}

func settings(s Session) []record {
	var all []record
	optional := func(p *string) datum.Datum {
		if p == nil {
			return datum.Null
		}
		return text(*p)
	}
	for _, p := range s.Settings() {
		rec := record{
			"name": text(p.Name), "setting": text(p.Setting), "unit": optional(p.Unit), "short_desc": text(p.Description),
			"context": text(p.Context), "vartype": text(p.Type), "min_val": optional(p.Min), "max_val": optional(p.Max), "pending_restart": datum.OfBool(false),
		}
		if p.Enum != nil {
			quoted := make([]string, len(p.Enum))
			for i, value := range p.Enum {
				quoted[i] = datum.QuoteElement(value)
			}
			rec["enumvals"] = list(quoted)
		}
		all = append(all, rec)
	}
	return all
}

// views are relations that are queries here as they are in PostgreSQL, without the
// columns that only it can compute.
var views = map[qualified]struct {
	sql    string
	hidden []string
}{
	{pgCatalog, "pg_tables"}: {sql: `SELECT n.nspname, c.relname, pg_get_userbyid(c.relowner), t.spcname, c.relhasindex, c.relhasrules, c.relhastriggers, c.relrowsecurity
		FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_tablespace t ON t.oid = c.reltablespace
		WHERE c.relkind IN ('r', 'p')`},
	{pgCatalog, "pg_views"}: {sql: `SELECT n.nspname, c.relname, pg_get_userbyid(c.relowner), NULL
		FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'v'`, hidden: []string{"definition"}},
	{informationSchema, "schemata"}: {sql: `SELECT current_database(), n.nspname, u.rolname, NULL, NULL, NULL, NULL
		FROM pg_namespace n, pg_roles u WHERE n.nspowner = u.oid AND pg_has_role(n.nspowner, 'USAGE')`},
	{informationSchema, "tables"}: {sql: `SELECT current_database(), nc.nspname, c.relname,
			CASE c.relkind WHEN 'r' THEN 'BASE TABLE' WHEN 'p' THEN 'BASE TABLE' WHEN 'v' THEN 'VIEW' WHEN 'f' THEN 'FOREIGN' END,
			NULL, NULL, NULL, NULL, NULL,
			CASE WHEN c.relkind IN ('r', 'p') OR c.relname IN ('pg_group', 'pg_stat_database_conflicts') THEN 'YES' ELSE 'NO' END, 'NO', NULL
		FROM pg_namespace nc JOIN pg_class c ON nc.oid = c.relnamespace
		WHERE c.relkind IN ('r', 'v', 'f', 'p') AND (pg_has_role(c.relowner, 'USAGE') OR has_table_privilege(c.oid, 'SELECT'))`},
}

// viewQueries are those of views.
var viewQueries = make(map[qualified]func() *Query)

func init() { // reading a view reads others
	for name, v := range views {
		viewQueries[name] = Own(v.sql)
	}
}

func (r *relation) viewRows(x *execution) ([][]datum.Datum, error) { return r.view().body.rows(x, nil) }

// hide takes the names of columns away that are not known here.
func (r *relation) hide(names []string) {
	r.partial = len(names) > 0
	r.columns = slices.Clone(r.columns)
	for i, col := range r.columns {
		if slices.Contains(names, col.name) {
			r.columns[i].name = ""
		}
	}
}

// class is a row of pg_class, by which it is found.
type class struct {
	oid          uint32
	schema, name string
	acl          string
}

var classes = sync.OnceValue(func() []*class {
	s := sections()["pg_class"]
	var all []*class
	for rec := range s.records {
		all = append(all, &class{
			oid: uint32(s.number(rec, "oid")), schema: schemaName(uint32(s.number(rec, "relnamespace"))), name: s.field(rec, "relname"), acl: s.field(rec, "relacl"),
		})
	}
	return all
})

func classByOID(oid uint32) *class {
	i := slices.IndexFunc(classes(), func(c *class) bool { return c.oid == oid })
	if i < 0 {
		return nil
	}
	return classes()[i]
}

func classByName(schema, name string) *class {
	i := slices.IndexFunc(classes(), func(c *class) bool { return c.name == name && c.schema == schema })
	if i < 0 {
		return nil
	}
	return classes()[i]
}

func classOID(name string) int64 { return int64(classByName(pgCatalog, name).oid) }
