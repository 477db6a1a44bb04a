package settings

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Options are what a server decides about the parameters of its sessions.
type Options struct {
	// Version is the product's own, shown in server_version.
	Version string
	// Branch is the default of app.branch; "" stands for main.
	Branch string
	// Overrides are further defaults by parameter name, read as SET reads a value,
	// no matter who may set the parameter: port, max_connections, ssl, TimeZone and so on.
	Overrides map[string]string
	// MemoryLimit bounds what the values of one session may take, in bytes; 0 stands for 4 MiB.
	MemoryLimit int
}

// Defaults are the known parameters with the values that a new session finds.
// It is immutable and safe for concurrent use.
type Defaults struct {
	parameters  []parameter           // sorted by key, as SHOW ALL lists them
	byKey       map[string]*parameter // by lower-case name
	reported    []*parameter          // in the order of ParameterStatus
	hot         hot
	memoryLimit int
}

// The version of PostgreSQL that clients are told, and behave for.
const serverVersion = "14.18"

// BranchParameter is the parameter that names the branch of a session's locks.
const BranchParameter = "app.branch"

// NewDefaults makes the table. An error means an override that is not known or not valid.
func NewDefaults(o Options) (*Defaults, error) {
	d := &Defaults{
		parameters:  slices.Clone(knownParameters()),
		byKey:       make(map[string]*parameter),
		memoryLimit: o.MemoryLimit,
	}
	if d.memoryLimit == 0 {
		d.memoryLimit = 4 << 20
	}
	for i := range d.parameters {
		p := &d.parameters[i]
		d.byKey[p.key] = p
		if p.is(reported) {
			d.reported = append(d.reported, p)
		}
	}
	branch := o.Branch
	if branch == "" {
		branch = "main"
	}
	own := map[string]string{
		"server_version": fmt.Sprintf("%s (raisinproxy %s)", serverVersion, o.Version),
		BranchParameter:  branch,
	}
	for _, values := range []map[string]string{unlikePostgres, own, o.Overrides} {
		if err := d.override(values); err != nil {
			return nil, err
		}
	}
	d.fillHot()
	return d, nil
}

// override reads the values as a session would, without asking who may set them.
func (d *Defaults) override(values map[string]string) error {
	scratch := &Set{defaults: d}
	for name, value := range values {
		p := d.byKey[fold(name)]
		if p == nil {
			return unrecognized(name)
		}
		text, err := scratch.parse(p, name, value)
		if err != nil {
			return err
		}
		p.initial = text
	}
	return nil
}

// fillHot runs every assign hook once, so that a new session starts with a copy of the result.
func (d *Defaults) fillHot() {
	scratch := &Set{defaults: d}
	for i := range d.parameters {
		if p := &d.parameters[i]; p.assign != nil {
			p.assign(scratch, p.initial)
		}
	}
	d.hot = scratch.hot
}

// A parameter is one row of the table, or a session's own custom parameter.
// It does not change once the table is made.
type parameter struct {
	name, key   string // key is the lower-case name
	description string
	kind        kind
	access      access
	unit        string
	min, max    float64
	enum        []string
	initial     string // as SHOW shows it
	flags       flags

	// check refuses a well-formed value or makes it canonical.
	check func(s *Set, p *parameter, value string) (string, error)
	// assign keeps a derived value in s.hot whenever the value changes.
	assign func(s *Set, value string)
	// dynamic is the value before any SET, where that is not the same in all sessions.
	dynamic func(s *Set) string
}

type kind uint8

const (
	kindString kind = iota
	kindBool
	kindInteger
	kindReal
	kindEnum
)

// access tells who may set a parameter, and when.
type access uint8

const (
	accessInternal access = iota // nobody
	accessPostmaster
	accessSighup
	accessSuperuserBackend // a superuser at start-up
	accessBackend          // anyone at start-up
	accessSuperuser
	accessUser
)

type flags uint8

const (
	reported      flags = 1 << iota // ParameterStatus tells the client
	hidden                          // not in SHOW ALL
	keptByReset                     // RESET ALL does not touch it
	superuserOnly                   // SHOW refuses
	isName                          // cut to 63 bytes
	isList                          // SET x = a, b
	quotedItems                     // and each item is quoted as an identifier
)

func (p *parameter) is(f flags) bool { return p.flags&f != 0 }

//go:embed parameters.tsv
var parametersTSV string

// unlikePostgres are defaults that differ from the table's: what initdb and the
// environment decide on a real server, and what changed between 14 and 15.
var unlikePostgres = map[string]string{
	"archive_command":            "(disabled)", // what SHOW says for ''
	"client_encoding":            "UTF8",
	"default_text_search_config": "pg_catalog.english",
	"lc_collate":                 "C.UTF-8",
	"lc_ctype":                   "C.UTF-8",
	"lc_messages":                "C.UTF-8",
	"lc_monetary":                "C.UTF-8",
	"lc_numeric":                 "C.UTF-8",
	"lc_time":                    "C.UTF-8",
	"log_timezone":               "UTC",
	"max_stack_depth":            "2MB",
	"server_encoding":            "UTF8",
	"TimeZone":                   "UTC",
	"timezone_abbreviations":     "Default",
	"wal_buffers":                "4MB",

	"hash_mem_multiplier":         "1",
	"log_autovacuum_min_duration": "-1",
	"log_checkpoints":             "off",
}

// knownParameters reads the table once, for all servers of this process.
var knownParameters = sync.OnceValue(func() []parameter {
	var all []parameter
	for line := range strings.Lines(parametersTSV) {
		if !strings.HasPrefix(line, "#") {
			all = append(all, parseRow(strings.Split(strings.TrimSuffix(line, "\n"), "\t")))
		}
	}
	all = append(all, parameter{
		name:        BranchParameter,
		key:         BranchParameter,
		description: "Sets the branch whose locks and inventory pools the session uses.",
		access:      accessUser,
		check:       checkNotEmpty,
		assign:      func(s *Set, value string) { s.hot.branch = value },
	})
	slices.SortFunc(all, func(a, b parameter) int { return strings.Compare(a.key, b.key) })
	return all
})

var (
	kindNames = map[string]kind{
		"string": kindString, "bool": kindBool, "integer": kindInteger, "real": kindReal, "enum": kindEnum,
	}
	accessNames = map[string]access{
		"internal": accessInternal, "postmaster": accessPostmaster, "sighup": accessSighup,
		"superuser-backend": accessSuperuserBackend, "backend": accessBackend,
		"superuser": accessSuperuser, "user": accessUser,
	}
	flagLetters = map[rune]flags{
		'R': reported, 'H': hidden, 'K': keptByReset, 'S': superuserOnly, 'N': isName, 'L': isList, 'Q': quotedItems,
	}
)

// parseRow panics on a malformed table, which is part of the program.
func parseRow(f []string) parameter {
	p := parameter{
		name: f[0], key: fold(f[0]), kind: kindNames[f[1]], access: accessNames[f[2]], unit: f[3],
		initial: f[7], description: f[9],
	}
	for _, letter := range f[8] {
		p.flags |= flagLetters[letter]
	}
	switch p.kind {
	case kindEnum:
		p.enum = strings.Split(f[6], "|")
	case kindInteger, kindReal:
		p.min, p.max = mustFloat(f[4]), mustFloat(f[5])
		p.initial = p.showNumber(mustFloat(f[7]))
	}
	p.attachHooks()
	return p
}

func mustFloat(s string) float64 {
	if s == "1.79769e+308" { // the table shows six digits of the greatest double
		s = "1.7976931348623157e+308"
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic("settings: parameters.tsv: " + err.Error())
	}
	return f
}
