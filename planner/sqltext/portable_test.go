package sqltext

import "testing"

func TestPortable(t *testing.T) {
	for _, test := range []struct {
		text     string
		standard bool
		want     string
	}{
		{`select 'a''b', E'\n'`, true, `select 'a''b', E'\n'`},
		{`select 'a\'`, true, `select  E'a\\'`},
		{`select 'a\'', b'`, false, `select  E'a\'', b'`},
		{`select 'a\' , '; drop table t; --'`, true, `select  E'a\\' , '; drop table t; --'`},
		{`select N'\' || n'\'`, true, `select NCHAR E'\\' || nCHAR E'\\'`},
		{`select $$\$$, "\", '\' -- '\'`, true, `select $$\$$, "\",  E'\\' -- '\'`},
		{"select '\\'\n'\\'", true, "select  E'\\\\'\n'\\\\'"},
		{`copy t from 'c:\x' /* '\' */`, true, `copy t from  E'c:\\x' /* '\' */`},
	} {
		got := Portable(test.text, test.standard)
		if got != test.want {
			t.Errorf("%s\n got %s\nwant %s", test.text, got, test.want)
		}
		for _, standard := range []bool{true, false} {
			if again := Portable(got, standard); again != got {
				t.Errorf("%s\nis not the same under both settings: %s", got, again)
			}
		}
	}
}
