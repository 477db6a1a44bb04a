package settings

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"raisinproxy/sqlfuncs/pgerr"
)

// What PostgreSQL 15.18 answered to start-up packets of a role that is not a superuser, each with one more entry:
// what SHOW showed then, or its FATAL error.
func TestStartupAsPostgreSQL(t *testing.T) {
	const custom = "Custom parameter names must be two or more simple identifiers separated by dots."
	tests := []struct{ name, value, want string }{
		{"client_encoding", "latin1", "LATIN1"},
		{"DateStyle", "german", "German, DMY"},
		{"DateStyle", "default", "ISO, MDY"},
		{"DateStyle", "dmy", "ISO, DMY"},
		{"timezone", "europe/berlin", "Europe/Berlin"},
		{"application_name", "né", "n??"},
		{"extra_float_digits", "3", "3"},
		{"a.b", "c", "c"},
		{"ignore_system_indexes", "on", "on"},
		{"default_text_search_config", "german", "pg_catalog.german"},
		{"temp_tablespaces", "foo", "foo"},
		{"seed", "0.4", "unavailable"},
		{"session_authorization", "joe", "joe"},
		{"client_encoding", "sql_ascii", "SQL_ASCII"},
		{"client_encoding", "foo", `! 22023 "invalid value for parameter \"client_encoding\": \"foo\""`},
		{"client_encoding", "mule_internal", `! 0A000 "conversion between MULE_INTERNAL and UTF8 is not supported"`},
		{"foo", "bar", `! 42704 "unrecognized configuration parameter \"foo\""`},
		{"log_connections", "on", `! 42501 "permission denied to set parameter \"log_connections\""`},
		{"log_statement", "all", `! 42501 "permission denied to set parameter \"log_statement\""`},
		{"max_connections", "4", `! 55P02 "parameter \"max_connections\" cannot be changed without restarting the server"`},
		{"server_version", "4", `! 55P02 "parameter \"server_version\" cannot be changed"`},
		{"fsync", "off", `! 55P02 "parameter \"fsync\" cannot be changed now"`},
		{"is_superuser", "on", `! 55P02 "parameter \"is_superuser\" cannot be changed"`},
		{"WORK_MEM", "5", `! 22023 "5 kB is outside the valid range for parameter \"WORK_MEM\" (64 .. 2147483647)"`},
		{"a b.c", "4", `! 42602 "invalid configuration parameter name \"a b.c\"" detail="` + custom + `"`},
		{"transaction_isolation", "serializable", `! 25001 "SET TRANSACTION ISOLATION LEVEL must be called before any query"`},
		{"transaction_deferrable", "on", `! 25001 "SET TRANSACTION [NOT] DEFERRABLE must be called before any query"`},
		{"session_authorization", "nobody", `! 22023 "role \"nobody\" does not exist"`},
		{"role", "nobody", `! 22023 "role \"nobody\" does not exist"`},
		{"timezone", "", `! 22023 "invalid value for parameter \"TimeZone\": \"\""`},
		{"search_path", "a,,b", `! 22023 "invalid value for parameter \"search_path\": \"a,,b\"" detail="List syntax is invalid."`},
		{"lc_monetary", "xx", `! 22023 "invalid value for parameter \"lc_monetary\": \"xx\""`},
		{"default_tablespace", "foo", `! 22023 "invalid value for parameter \"default_tablespace\": \"foo\"" detail="Tablespace \"foo\" does not exist."`},
		{"default_text_search_config", "foo", `! 22023 "invalid value for parameter \"default_text_search_config\": \"foo\""`},
	}
	for _, test := range tests {
		s := New(defaults(t), "joe")
		err := s.SetStartup(test.name, test.value)
		got, _ := s.Show(test.name)
		if err != nil {
			got = render(err)
			if severity := pgerr.From(err).Severity; severity != pgerr.SeverityFatal {
				t.Errorf("%s = %s: %s, not FATAL", test.name, test.value, severity)
			}
		}
		if got != test.want {
			t.Errorf("%s = %s\n got %s\nwant %s", test.name, test.value, got, test.want)
		}
	}
}

func TestStartupValuesAreTheResetValues(t *testing.T) {
	s := New(defaults(t), "joe")
	// -c datestyle=german, then the packet's own: the order is what is not named again.
	for _, option := range [][2]string{{"datestyle", "german"}, {"DateStyle", "iso"}, {"a.b", "c"}, {"default_transaction_read_only", "on"}} {
		if err := s.SetStartup(option[0], option[1]); err != nil {
			t.Fatal(err)
		}
	}
	for _, set := range [][2]string{{"datestyle", "sql"}, {"a.b", "q"}} {
		_ = s.Set(set[0], set[1], false)
	}
	s.ResetAll()
	for name, want := range map[string]string{"DateStyle": "ISO, DMY", "a.b": "c", "transaction_read_only": "on"} {
		if got, _ := s.Show(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// The order is the one in which PostgreSQL 15.18 sends ParameterStatus.
func TestReported(t *testing.T) {
	s := New(defaults(t), "joe")
	_ = s.SetStartup("application_name", "né")
	_ = s.SetStartup("TimeZone", "Asia/Tokyo")
	want := `application_name=n??
client_encoding=UTF8
DateStyle=ISO, MDY
default_transaction_read_only=off
in_hot_standby=off
integer_datetimes=on
IntervalStyle=postgres
is_superuser=off
server_encoding=UTF8
server_version=14.18 (raisinproxy 1.2.3)
session_authorization=joe
standard_conforming_strings=on
TimeZone=Asia/Tokyo
`
	if got := renderReports(s.Reported()); got != want {
		t.Errorf("got\n%s", got)
	}
	if got := s.TakeReports(); got != nil {
		t.Errorf("reported twice: %v", got)
	}
	// SET timezone, datestyle, application_name, timezone again, intervalstyle in one message.
	for _, set := range [][2]string{
		{"timezone", "Europe/Berlin"}, {"datestyle", "german"}, {"application_name", "x"}, {"timezone", "UTC"}, {"intervalstyle", "iso_8601"},
	} {
		_ = s.Set(set[0], set[1], false)
	}
	if got, want := renderReports(s.TakeReports()), "application_name=x\nDateStyle=German, DMY\nIntervalStyle=iso_8601\nTimeZone=UTC\n"; got != want {
		t.Errorf("got\n%s", got)
	}
	_ = s.Set("timezone", "Asia/Tokyo", false)
	_ = s.Set("timezone", "UTC", false)
	if got := s.TakeReports(); !slices.Equal(got, nil) {
		t.Errorf("no change was reported: %v", got)
	}
}

func renderReports(reports []Report) string {
	var b strings.Builder
	for _, r := range reports {
		fmt.Fprintf(&b, "%s=%s\n", r.Name, r.Value)
	}
	return b.String()
}
