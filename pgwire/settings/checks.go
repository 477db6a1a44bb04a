package settings

import (
	"strings"
	"time"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/sqlfuncs/pgerr"
)

// attachHooks gives the parameters that have rules of their own their hooks.
func (p *parameter) attachHooks() {
	switch p.key {
	case "application_name", "cluster_name":
		p.check = checkASCII
	case "client_encoding":
		p.check, p.assign = checkEncoding, func(s *Set, v string) { s.hot.encoding = canonicalEncoding(v) }
	case "datestyle":
		p.check = checkDateStyle
	case "default_table_access_method":
		p.check = checkAccessMethod
	case "default_tablespace":
		p.check = checkTablespace
	case "default_text_search_config":
		p.check = checkTextSearch
	case "default_transaction_deferrable":
		p.assign = func(s *Set, v string) { s.hot.next.Deferrable = v }
	case "default_transaction_isolation":
		p.assign = func(s *Set, v string) { s.hot.next.Isolation = v }
	case "default_transaction_read_only":
		p.assign = func(s *Set, v string) { s.hot.next.ReadOnly = v }
	case "default_with_oids":
		p.check = checkWithoutOIDs
	case "lc_messages", "lc_monetary", "lc_numeric", "lc_time":
		p.check = checkLocale
	case "log_timezone":
		p.check = checkZone
	case "restrict_nonsystem_relation_kind":
		p.check = checkRelationKinds
	case "role":
		p.check = checkRole
	case "search_path":
		p.check = checkList
	case "seed":
		p.check = func(*Set, *parameter, string) (string, error) { return p.initial, nil }
		p.initial = "unavailable" // whatever it is set to
	case "session_authorization":
		p.check, p.dynamic = checkUser, func(s *Set) string { return s.user }
	case "standard_conforming_strings":
		p.assign = func(s *Set, v string) { s.hot.standardConformingStrings = v == "on" }
	case "statement_timeout":
		p.assign = assignStatementTimeout
	case "temp_tablespaces":
		p.check = checkTempTablespaces
	case "timezone":
		p.check, p.assign = checkZone, func(s *Set, v string) { s.hot.zone = Zone(v) }
	case "timezone_abbreviations":
		p.check = checkAbbreviations
	case deferrableKey:
		p.check, p.dynamic = checkDeferrable, func(s *Set) string { return s.characteristics.Deferrable }
	case isolationKey:
		p.check, p.dynamic = checkIsolation, func(s *Set) string { return s.characteristics.Isolation }
	case readOnlyKey:
		p.check, p.dynamic = checkReadOnly, func(s *Set) string { return s.characteristics.ReadOnly }
	}
}

func checkNotEmpty(_ *Set, p *parameter, v string) (string, error) {
	if v == "" {
		return "", invalid(p.name, v)
	}
	return v, nil
}

// checkASCII replaces bytes, not characters, as PostgreSQL did up to 15.
func checkASCII(_ *Set, _ *parameter, v string) (string, error) {
	clean := []byte(v)
	for i, c := range clean {
		if c < 32 || c > 126 {
			clean[i] = '?'
		}
	}
	return string(clean), nil
}

func checkList(_ *Set, p *parameter, v string) (string, error) {
	if _, ok := splitIdentifiers(v, ','); !ok {
		return "", invalid(p.name, v).WithDetail("List syntax is invalid.")
	}
	return v, nil
}

// checkDateStyle takes a style, a field order or both; what is not named stays as it is.
func checkDateStyle(s *Set, p *parameter, v string) (string, error) {
	words, ok := splitIdentifiers(v, ',')
	if !ok {
		return "", invalid(p.name, v).WithDetail("List syntax is invalid.")
	}
	var style, order string // as named here
	conflict := false
	choose := func(chosen *string, word string) {
		conflict = conflict || *chosen != "" && *chosen != word
		*chosen = word
	}
	elseStyle, elseOrder, _ := strings.Cut(s.text(p), ", ")
	for _, given := range words {
		word := fold(given)
		switch {
		case word == "iso":
			choose(&style, "ISO")
		case word == "sql":
			choose(&style, "SQL")
		case strings.HasPrefix(word, "postgres"):
			choose(&style, "Postgres")
		case word == "german":
			choose(&style, "German")
			elseOrder = "DMY"
		case word == "ymd":
			choose(&order, "YMD")
		case word == "dmy", strings.HasPrefix(word, "euro"):
			choose(&order, "DMY")
		case word == "mdy", word == "us", strings.HasPrefix(word, "noneuro"):
			choose(&order, "MDY")
		case word == "default":
			elseStyle, elseOrder, _ = strings.Cut(s.resetText(p), ", ")
		default:
			return "", invalid(p.name, v).WithDetail("Unrecognized key word: \"%s\".", given)
		}
	}
	if conflict {
		return "", invalid(p.name, v).WithDetail("Conflicting \"datestyle\" specifications.")
	}
	return orElse(style, elseStyle) + ", " + orElse(order, elseOrder), nil
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// resetText is what RESET would restore.
func (s *Set) resetText(p *parameter) string {
	if e := s.entries[p.key]; e != nil {
		return e.reset
	}
	return p.initial
}

func assignStatementTimeout(s *Set, v string) {
	ms, _, _ := readInteger(v, "ms")
	s.hot.statementTimeout = time.Duration(ms) * time.Millisecond
}

// checkUser: one session has one user, and knows of no other role.
func checkUser(s *Set, _ *parameter, v string) (string, error) {
	if v != s.user {
		return "", pgerr.Newf(codes.InvalidParameterValue, "role \"%s\" does not exist", v)
	}
	return v, nil
}

func checkRole(s *Set, p *parameter, v string) (string, error) {
	if v == "none" {
		return v, nil
	}
	return checkUser(s, p, v)
}

func checkWithoutOIDs(_ *Set, _ *parameter, v string) (string, error) {
	if v == "on" {
		return "", pgerr.Newf(codes.FeatureNotSupported, "tables declared WITH OIDS are not supported")
	}
	return v, nil
}

// checkLocale takes the locales that a server has at least; nothing here is formatted by them.
func checkLocale(_ *Set, p *parameter, v string) (string, error) {
	name, codeset, _ := strings.Cut(v, ".")
	codeset = strings.ReplaceAll(fold(codeset), "-", "")
	known := v == "" || v == "C" || v == "POSIX" || (name == "C" || name == "en_US") && codeset == "utf8"
	if !known {
		return "", invalid(p.name, v)
	}
	return v, nil
}

func checkAbbreviations(_ *Set, p *parameter, v string) (string, error) {
	if v != "Default" && v != "Australia" && v != "India" {
		return "", invalid(p.name, v)
	}
	return v, nil
}

func checkTablespace(_ *Set, p *parameter, v string) (string, error) {
	if v != "" && v != "pg_default" && v != "pg_global" {
		return "", invalid(p.name, v).WithDetail("Tablespace \"%s\" does not exist.", v)
	}
	return v, nil
}

func checkTempTablespaces(s *Set, p *parameter, v string) (string, error) {
	names, ok := splitIdentifiers(v, ',')
	if !ok {
		return "", invalid(p.name, v).WithDetail("List syntax is invalid.")
	}
	for _, name := range names {
		switch {
		case s.starting, name == "", name == "pg_default":
		case name == "pg_global":
			return "", pgerr.Newf(codes.InsufficientPrivilege, "permission denied for tablespace %s", name)
		default:
			return "", pgerr.Newf(codes.UndefinedObject, "tablespace \"%s\" does not exist", name)
		}
	}
	return v, nil
}

func checkAccessMethod(_ *Set, p *parameter, v string) (string, error) {
	switch v {
	case "heap":
		return v, nil
	case "":
		return "", invalid(p.name, v).WithDetail("%s cannot be empty.", p.name)
	}
	return "", invalid(p.name, v).WithDetail("Table access method \"%s\" does not exist.", v)
}

func checkRelationKinds(_ *Set, p *parameter, v string) (string, error) {
	words, ok := splitIdentifiers(v, ',')
	if !ok {
		return "", invalid(p.name, v).WithDetail("List syntax is invalid.")
	}
	for _, word := range words {
		if fold(word) != "view" && fold(word) != "foreign-table" {
			return "", invalid(p.name, v).WithDetail("Unrecognized key word: \"%s\".", word)
		}
	}
	return v, nil
}

// textSearchConfigs are the built-in ones.
var textSearchConfigs = wordSet(`simple arabic armenian basque catalan danish dutch english finnish french german greek
	hindi hungarian indonesian irish italian lithuanian nepali norwegian portuguese romanian russian serbian spanish
	swedish tamil turkish yiddish`)

func checkTextSearch(_ *Set, p *parameter, v string) (string, error) {
	parts, ok := splitIdentifiers(v, '.')
	switch {
	case !ok || len(parts) == 0:
		return "", pgerr.Newf(codes.InvalidName, "invalid name syntax")
	case len(parts) > 3:
		return "", pgerr.Newf(codes.Syntax, "improper qualified name (too many dotted names): %s", v)
	case len(parts) == 3:
		return "", pgerr.Newf(codes.FeatureNotSupported, "cross-database references are not implemented: %s", v)
	}
	name := parts[len(parts)-1]
	if !textSearchConfigs[name] || len(parts) == 2 && parts[0] != "pg_catalog" {
		return "", invalid(p.name, v)
	}
	return "pg_catalog." + name, nil
}
