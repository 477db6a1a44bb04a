package catalog

import (
	"slices"
	"strings"
)

// Session is what an answer may depend on besides the query.
type Session interface {
	Database() string // that the client has connected to
	User() string
	Version() string // as version() says it
	// Setting is the value of a run-time parameter as SHOW prints it.
	Setting(name string) (value string, ok bool)
	// Settings are all that SHOW ALL lists.
	Settings() []Setting
}

// Setting is a run-time parameter as pg_settings describes it. NULL is nil.
type Setting struct {
	Name, Setting string
	Unit          *string
	Description   string
	Context, Type string
	Min, Max      *string
	Enum          []string // nil: it is none
}

// searchPath are the schemas that exist of search_path, and with implicit the one that
// is searched without being named.
func searchPath(s Session, implicit bool) []string {
	setting, _ := s.Setting("search_path")
	var path []string
	for name := range strings.SplitSeq(setting, ",") {
		if name = strings.Trim(strings.TrimSpace(name), `"`); schemaOID(name) != 0 && !slices.Contains(path, name) {
			path = append(path, name)
		}
	}
	if implicit && !slices.Contains(path, pgCatalog) {
		path = slices.Insert(path, 0, pgCatalog)
	}
	return path
}

// schemaOID is 0 for a schema that does not exist.
func schemaOID(name string) uint32 {
	s := sections()["pg_namespace"]
	for r := range s.records {
		if s.field(r, "nspname") == name {
			return uint32(s.number(r, "oid"))
		}
	}
	return 0
}

// schemaName is "" for a schema that does not exist.
func schemaName(oid uint32) string {
	s := sections()["pg_namespace"]
	for r := range s.records {
		if uint32(s.number(r, "oid")) == oid {
			return s.field(r, "nspname")
		}
	}
	return ""
}
