package catalog

import (
	"slices"
	"strings"
	"sync"

	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/datum"
)

// proc is what is asked of a row of pg_proc.
type proc struct {
	oid          uint32
	schema, name string
	kind         string
	set          bool
	result       uint32
	args, all    []string // OIDs; all is nil if there are arguments for input only
	modes, names []string
	defaults     string
	defaultCount int64
	body         bool // it is of the language SQL, and may have a body of statements
}

// procs are PostgreSQL's functions and the product's, by OID.
var procs = sync.OnceValue(func() map[uint32]*proc {
	all := make(map[uint32]*proc)
	r := relations()[qualified{pgCatalog, "pg_proc"}]
	columns := make(map[string]int)
	for i, col := range r.columns {
		columns[col.name] = i
	}
	schemas := make(map[int64]string)
	for _, row := range slices.Concat(r.stored(), r.dynamicRows(nil)) {
		field := func(name string) datum.Datum { return row[columns[name]] }
		namespace := field("pronamespace").Int
		if schemas[namespace] == "" {
			schemas[namespace] = schemaName(uint32(namespace))
		}
		p := &proc{
			oid: uint32(field("oid").Int), schema: schemas[namespace], name: field("proname").Str, kind: field("prokind").Str,
			set: field("proretset").Bool(), result: uint32(field("prorettype").Int), args: strings.Fields(field("proargtypes").Str),
			all: texted(field("proallargtypes")), modes: texted(field("proargmodes")), names: texted(field("proargnames")),
			defaults: field("proargdefaults").Str, defaultCount: field("pronargdefaults").Int, body: field("prolang").Int == sqlLanguage,
		}
		all[p.oid] = p
	}
	return all
})

const sqlLanguage = 14

// texted takes an array apart; NULL has no items.
func texted(array datum.Datum) (texts []string) {
	if array.Null {
		return nil
	}
	items, err := splitArray(array.Str)
	if err != nil {
		panic("catalogue.tsv: " + err.Error())
	}
	for _, item := range items {
		texts = append(texts, item.Str)
	}
	return texts
}

// procsNamed are the functions of a name.
var procsNamed = sync.OnceValue(func() map[string][]*proc {
	all := make(map[string][]*proc)
	for _, p := range procs() {
		all[p.name] = append(all[p.name], p)
	}
	return all
})

func functionOf(v datum.Datum) *proc { return procs()[uint32(v.Int)] }

func functionIsVisible(x *execution, v []datum.Datum) (datum.Datum, error) {
	p := functionOf(v[0])
	if p == nil {
		return datum.Null, nil
	}
	return datum.OfBool(slices.Contains(searchPath(x.session, true), p.schema)), nil
}

// procedureName is a function as regprocedure shows it.
func (x *execution) procedureName(p *proc) string {
	name := quoteIdent(p.name)
	if !slices.Contains(searchPath(x.session, true), p.schema) {
		name = quoteIdent(p.schema) + "." + name
	}
	return name + "(" + p.argumentTypes() + ")"
}

// functionName is a function as regproc shows it.
func (x *execution) functionName(oid uint32) string {
	p := procs()[oid]
	switch {
	case p == nil:
		return ""
	case len(procsNamed()[p.name]) == 1 && slices.Contains(searchPath(x.session, true), p.schema):
		return quoteIdent(p.name)
	}
	return quoteIdent(p.schema) + "." + quoteIdent(p.name)
}

func functionResult(_ *execution, v []datum.Datum) (datum.Datum, error) {
	p := functionOf(v[0])
	if p == nil || p.kind == "p" {
		return datum.Null, nil
	}
	var columns []string
	for i, mode := range p.modes {
		if mode == "t" {
			columns = append(columns, p.argument(i))
		}
	}
	result := displayOID(p.result)
	switch {
	case len(columns) > 0:
		result = "TABLE(" + strings.Join(columns, ", ") + ")"
	case p.set:
		result = "SETOF " + result
	}
	return text(result), nil
}

func displayOID(oid uint32) string {
	if t := typeByOID(oid); t != nil {
		return t.display
	}
	return "???"
}

// argument is a name and a type.
func (p *proc) argument(i int) string {
	types := p.args
	if p.all != nil {
		types = p.all
	}
	t := displayOID(uint32(mustInt(types[i])))
	if i < len(p.names) && p.names[i] != "" {
		return quoteIdent(p.names[i]) + " " + t
	}
	return t
}

// modeNames are what stands before an argument.
var modeNames = map[string]string{"o": "OUT ", "b": "INOUT ", "v": "VARIADIC "}

func functionArguments(_ *execution, v []datum.Datum) (datum.Datum, error) {
	return argumentsOf(v[0], true)
}

func identityArguments(_ *execution, v []datum.Datum) (datum.Datum, error) {
	return argumentsOf(v[0], false)
}

func argumentsOf(oid datum.Datum, withDefaults bool) (datum.Datum, error) {
	p := functionOf(oid)
	switch {
	case p == nil:
		return datum.Null, nil
	case p.kind == "a" && p.result != 0 && slices.Contains(orderedSets, p.name):
		return datum.Null, refusal("the arguments of an aggregate of a group in order")
	}
	defaults, err := p.defaultTexts()
	if err != nil {
		return datum.Null, err
	}
	var args []string
	for i := range max(len(p.args), len(p.all)) {
		mode := "i"
		if p.modes != nil {
			mode = p.modes[i]
		}
		if mode == "t" {
			continue
		}
		arg := modeNames[mode] + p.argument(i)
		if n := i - (len(p.args) - len(defaults)); withDefaults && n >= 0 && n < len(defaults) && mode != "o" {
			arg += " DEFAULT " + defaults[n]
		}
		args = append(args, arg)
	}
	return text(strings.Join(args, ", ")), nil
}

// orderedSets are aggregates whose arguments are shown with ORDER BY.
var orderedSets = []string{"percentile_disc", "percentile_cont", "mode", "rank", "percent_rank", "cume_dist", "dense_rank"}

// defaultTexts takes the default values apart.
func (p *proc) defaultTexts() ([]string, error) {
	if p.defaultCount == 0 {
		return nil, nil
	}
	all := strings.Split(p.defaults, ", ")
	if int64(len(all)) != p.defaultCount || slices.Contains(p.modes, "o") {
		return nil, refusal("default values of this kind")
	}
	return all, nil
}

// functionBody is NULL except for functions written as SQL statements.
func functionBody(_ *execution, v []datum.Datum) (datum.Datum, error) {
	if p := functionOf(v[0]); p != nil && p.body {
		return datum.Null, refusal("the body of a function")
	}
	return datum.Null, nil
}

// functionOID is what a function of the product is known by.
func functionOID(f *sqlfuncs.Function) int64 {
	return firstOID + 1 + int64(slices.Index(sqlfuncs.Functions, f))
}

func (p *proc) argumentTypes() string {
	var types []string
	for _, oid := range p.args {
		types = append(types, displayOID(uint32(mustInt(oid))))
	}
	return strings.Join(types, ",")
}

// procedureOf finds a function by its name and the types of its arguments, such as
// array_in(cstring,oid,integer).
func procedureOf(s string) *proc {
	name, args, ok := strings.Cut(strings.TrimPrefix(s, pgCatalog+"."), "(")
	if !ok || !strings.HasSuffix(args, ")") {
		return nil
	}
	var oids []string
	for arg := range strings.SplitSeq(strings.TrimSuffix(args, ")"), ",") {
		if strings.TrimSpace(args) == ")" {
			break
		}
		oid, err := regtypeIn(strings.TrimSpace(arg))
		if err != nil {
			return nil
		}
		oids = append(oids, itoa(int64(oid)))
	}
	i := slices.IndexFunc(procsNamed()[strings.TrimSpace(name)], func(p *proc) bool { return slices.Equal(p.args, oids) })
	if i < 0 {
		return nil
	}
	return procsNamed()[strings.TrimSpace(name)][i]
}
