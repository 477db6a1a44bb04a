package main

import (
	"fmt"
	"io"
	"strings"

	"raisinproxy/sqlfuncs"
)

// stubViews prints SQL that creates views by the names of the functions that return rows, over
// their stubs. The proxy recognizes them by their definitions, so that a relation of the user's own
// by such a name is left alone.
func stubViews(w io.Writer) error {
	var b strings.Builder
	b.WriteString("\n-- Views of the same names, for tools that list relations only.\n\nBEGIN;\n")
	for _, f := range sqlfuncs.Functions {
		if !f.Set {
			continue
		}
		columns := make([]string, len(f.Columns))
		for i, c := range f.Columns {
			columns[i] = c.Name
		}
		fmt.Fprintf(&b, "\nCREATE OR REPLACE VIEW public.%s AS\n  SELECT %s FROM public.%[1]s();\n", f.Name, strings.Join(columns, ", "))
		fmt.Fprintf(&b, "COMMENT ON VIEW public.%s IS 'All rows of %[1]s(), for tools that list relations only.';\n", f.Name)
	}
	b.WriteString("\nCOMMIT;\n")
	_, err := io.WriteString(w, b.String())
	return err
}
