package main

import (
	"fmt"
	"io"
	"strings"

	"raisinproxy/sqlfuncs"
)

// stubFunction is what the stubs call to say where calls are made.
const stubFunction = "raisin_stub"

// stubs prints SQL that creates functions of our names in the upstream, so that schema
// browsers and \df see them. The proxy answers the calls itself; whoever connects past
// it is told so.
func stubs(w io.Writer) error {
	var b strings.Builder
	b.WriteString(`-- Functions of raisinproxy, for schema browsers, \df and the checks of ORMs. The proxy
-- answers calls of them itself. Here they only say that they cannot be called directly.
--
-- They differ in one thing from what the proxy answers: a function of several columns
-- is a set of rows here, also as a value, where the proxy gives JSON (jsonb).

BEGIN;
SET LOCAL client_min_messages = warning;

CREATE OR REPLACE FUNCTION public.` + stubFunction + `(function_name text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% cannot be called by PostgreSQL itself', function_name
    USING ERRCODE = 'feature_not_supported',
      DETAIL = 'raisinproxy makes the calls that stand in the statements of its clients, and not those in views, functions, triggers and DO.',
      HINT = 'Send raisinproxy the call in a statement of its own: SELECT ... FROM ' || function_name || '(...) AS c';
END $$;
COMMENT ON FUNCTION public.` + stubFunction + `(text) IS 'Tells callers of the raisinproxy functions that only raisinproxy makes these calls.';
`)
	for _, f := range sqlfuncs.Functions {
		writeStub(&b, f)
	}
	b.WriteString("\nCOMMIT;\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// formerArguments are those of functions that had others in an earlier version. CREATE OR REPLACE
// would leave the old function beside the new one, and a call could mean both.
var formerArguments = map[string]string{
	"raisin_lock_acquire": "text, bigint",
}

func writeStub(b *strings.Builder, f *sqlfuncs.Function) {
	args, types := make([]string, len(f.Args)), make([]string, len(f.Args))
	for i, a := range f.Args {
		args[i], types[i] = fmt.Sprintf("%s %s", a.Name, a.Type), a.Type.String()
		if a.Default != nil {
			args[i] += " DEFAULT " + a.DefaultSQL()
		}
	}
	columns, nulls := make([]string, len(f.Columns)), make([]string, len(f.Columns))
	for i, c := range f.Columns {
		columns[i], nulls[i] = fmt.Sprintf("%s %s", c.Name, c.Type), "NULL::"+c.Type.String()
	}
	returns := "TABLE (" + strings.Join(columns, ", ") + ")"
	if len(f.Columns) == 1 {
		returns = f.Scalar.String()
	}
	b.WriteByte('\n')
	if former, ok := formerArguments[f.Name]; ok {
		fmt.Fprintf(b, "DROP FUNCTION IF EXISTS public.%s(%s); -- of an earlier version\n", f.Name, former)
	}
	fmt.Fprintf(b, "CREATE OR REPLACE FUNCTION public.%s(%s)\n  RETURNS %s VOLATILE LANGUAGE sql AS\n  $$ SELECT %s WHERE public.%s('%s') $$;\n",
		f.Name, strings.Join(args, ", "), returns, strings.Join(nulls, ", "), stubFunction, f.Name)
	fmt.Fprintf(b, "COMMENT ON FUNCTION public.%s(%s) IS '%s';\n", f.Name, strings.Join(types, ", "), strings.ReplaceAll(f.Comment, "'", "''"))
}
