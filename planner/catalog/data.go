package catalog

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"sync"

	"raisinproxy/sqlfuncs/datum"
)

// The rows are in the order in which PostgreSQL stores them, which is that of a query
// without ORDER BY. TestGenerate writes the file.
//
//go:embed catalogue.tsv
var catalogueTSV string

// column is a column of a relation.
type column struct {
	name   string
	t      datum.Type
	typmod int32
}

// relation is a table or view that queries may read.
type relation struct {
	oid          uint32
	schema, name string
	columns      []column
	partial      bool // there are more columns in PostgreSQL
	// stored reads the rows of all sessions, dynamic makes those of one, and view is a query
	// for them. Of a relation without any of these the rows are not known.
	stored  func() [][]datum.Datum
	dynamic func(Session) []record
	view    func() *Query
}

// section is one catalogue of the file.
type section struct {
	name    string
	columns []string
	values  []string // of the columns that are the same in all rows
	varies  []bool
	body    string // the rows
}

// sections reads the file; the last line names the catalogues without rows.
var sections = sync.OnceValue(func() map[string]*section {
	all := make(map[string]*section)
	_, rest, _ := strings.Cut(catalogueTSV, "\n\t") // what comes before are comments
	for rest != "" {
		var head string
		head, rest, _ = strings.Cut(rest, "\n\t")
		head, body, found := strings.Cut(head, "\n")
		if found {
			body += "\n"
		}
		fields := strings.Split(head, "\t")
		if fields[0] == "empty" {
			for _, name := range fields[1:] {
				all[name] = &section{name: name}
			}
			break
		}
		all[fields[0]] = newSection(fields, body)
	}
	return all
})

func newSection(fields []string, body string) *section {
	s := &section{name: fields[0], body: body}
	for _, field := range fields[1:] {
		name, value, constant := strings.Cut(field, "=")
		s.columns = append(s.columns, name)
		s.values = append(s.values, value)
		s.varies = append(s.varies, !constant)
	}
	return s
}

// records are the rows of a section as text, `\N` for NULL.
func (s *section) records(yield func([]string) bool) {
	for line := range strings.Lines(s.body) {
		line = strings.TrimSuffix(line, "\n")
		record := make([]string, len(s.columns))
		for i := range record {
			if record[i] = s.values[i]; s.varies[i] {
				record[i], line, _ = strings.Cut(line, "\t")
			}
		}
		if !yield(record) {
			return
		}
	}
}

// field is a value of a record by its column's name.
func (s *section) field(record []string, name string) string {
	return record[slices.Index(s.columns, name)]
}

func (s *section) number(record []string, name string) int64 {
	n, err := strconv.ParseInt(s.field(record, name), 10, 64)
	if err != nil {
		panic("catalogue.tsv: " + err.Error())
	}
	return n
}

// relations are all relations of the file, by schema and name.
var relations = sync.OnceValue(func() map[qualified]*relation {
	all := make(map[qualified]*relation)
	byOID := shapes()
	for _, r := range byOID {
		all[qualified{r.schema, r.name}] = r
	}
	for name, s := range sections() {
		r := all[qualified{pgCatalog, name}]
		columns := r.columns
		r.stored = sync.OnceValue(func() [][]datum.Datum { return s.rows(columns) })
	}
	for name, d := range dynamic {
		r := all[qualified{pgCatalog, name}]
		r.dynamic = d.rows
		r.hide(d.hidden)
	}
	for name, v := range views {
		all[name].view = viewQueries[name]
		all[name].hide(v.hidden)
	}
	return all
})

// rows reads the section.
func (s *section) rows(columns []column) [][]datum.Datum {
	var rows [][]datum.Datum
	for record := range s.records {
		row := make([]datum.Datum, len(record))
		for i, text := range record {
			row[i] = parseField(columns[i].t, text)
		}
		rows = append(rows, row)
	}
	return rows
}

// qualified is a name in a schema.
type qualified struct{ schema, name string }

// shapes are the relations without their rows, as pg_class and pg_attribute describe them.
func shapes() map[uint32]*relation {
	schemas := make(map[string]string)
	namespaces := sections()["pg_namespace"]
	for n := range namespaces.records {
		schemas[namespaces.field(n, "oid")] = namespaces.field(n, "nspname")
	}
	byOID := make(map[uint32]*relation)
	classes := sections()["pg_class"]
	for c := range classes.records {
		if kind := classes.field(c, "relkind"); kind != "r" && kind != "v" {
			continue
		}
		oid := uint32(classes.number(c, "oid"))
		byOID[oid] = &relation{oid: oid, schema: schemas[classes.field(c, "relnamespace")], name: classes.field(c, "relname")}
	}
	attributes := sections()["pg_attribute"]
	for a := range attributes.records {
		r := byOID[uint32(attributes.number(a, "attrelid"))]
		if r == nil || attributes.number(a, "attnum") <= 0 {
			continue
		}
		t, typmod := withoutDomain(datum.Type(attributes.number(a, "atttypid")), int32(attributes.number(a, "atttypmod")))
		r.columns = append(r.columns, column{attributes.field(a, "attname"), t, typmod})
	}
	return byOID
}

// withoutDomain is the type that clients are told instead of a domain.
func withoutDomain(t datum.Type, typmod int32) (datum.Type, int32) {
	for d := typeByOID(uint32(t)); d != nil && d.kind == "d"; d = typeByOID(d.baseType) {
		t, typmod = datum.Type(d.baseType), d.typmod
	}
	return t, typmod
}

var unescape = strings.NewReplacer(`\\`, `\`, `\t`, "\t", `\n`, "\n")

// parseField reads a value of the file.
func parseField(t datum.Type, text string) datum.Datum {
	if text == `\N` {
		return datum.Null
	}
	text = unescape.Replace(text)
	if t == datum.Regproc {
		oid, name, _ := strings.Cut(text, " ")
		return datum.Datum{Int: mustInt(oid), Str: name}
	}
	switch {
	case t == datum.Bool:
		return datum.OfBool(text == "true")
	case isNumber(t):
		return datum.OfInt(mustInt(text))
	}
	return datum.OfText(text)
}

func mustInt(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic("catalogue.tsv: " + err.Error())
	}
	return n
}
