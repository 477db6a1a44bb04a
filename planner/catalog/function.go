package catalog

import (
	"slices"
	"strings"

	"github.com/jeroenrinzema/psql-wire/codes"
	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/tree"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// function is one of PostgreSQL's functions. All are NULL if an argument is.
type function struct {
	args     []datum.Type
	optional int // how many of the last arguments may be left out
	result   datum.Type
	apply    func(*execution, []datum.Datum) (datum.Datum, error)
}

// builtins are the functions with one form each.
var builtins map[string]function

func init() { // its functions run queries, which look functions up
	builtins = map[string]function{
		"current_schema": {nil, 0, datum.Name, currentSchema},
		"current_schemas": {[]datum.Type{datum.Bool}, 0, datum.NameArray, func(x *execution, v []datum.Datum) (datum.Datum, error) {
			return x.array(datum.Name, texts(searchPath(x.session, v[0].Bool())))
		}},
		"current_database":                   {nil, 0, datum.Name, func(x *execution, _ []datum.Datum) (datum.Datum, error) { return text(x.session.Database()), nil }},
		"version":                            {nil, 0, datum.Text, func(x *execution, _ []datum.Datum) (datum.Datum, error) { return text(x.session.Version()), nil }},
		"current_setting":                    {[]datum.Type{datum.Text, datum.Bool}, 1, datum.Text, currentSetting},
		"format_type":                        {[]datum.Type{datum.OID, datum.Int4}, 0, datum.Text, nil},
		"pg_get_userbyid":                    {[]datum.Type{datum.OID}, 0, datum.Name, userByID},
		"pg_encoding_to_char":                {[]datum.Type{datum.Int4}, 0, datum.Name, encodingName},
		"pg_table_is_visible":                {[]datum.Type{datum.OID}, 0, datum.Bool, tableIsVisible},
		"pg_type_is_visible":                 {[]datum.Type{datum.OID}, 0, datum.Bool, typeIsVisible},
		"pg_function_is_visible":             {[]datum.Type{datum.OID}, 0, datum.Bool, functionIsVisible},
		"pg_get_function_result":             {[]datum.Type{datum.OID}, 0, datum.Text, functionResult},
		"pg_get_function_arguments":          {[]datum.Type{datum.OID}, 0, datum.Text, functionArguments},
		"pg_get_function_identity_arguments": {[]datum.Type{datum.OID}, 0, datum.Text, identityArguments},
		"obj_description":                    {[]datum.Type{datum.OID, datum.Name}, 0, datum.Text, objDescription},
		"col_description":                    {[]datum.Type{datum.OID, datum.Int4}, 0, datum.Text, columnDescription},
		"pg_get_function_sqlbody":            {[]datum.Type{datum.OID}, 0, datum.Text, functionBody},
		"quote_ident":                        {[]datum.Type{datum.Text}, 0, datum.Text, func(_ *execution, v []datum.Datum) (datum.Datum, error) { return text(quoteIdent(v[0].Str)), nil }},
		"lower":                              {[]datum.Type{datum.Text}, 0, datum.Text, ascii(strings.ToLower)},
		"upper":                              {[]datum.Type{datum.Text}, 0, datum.Text, ascii(strings.ToUpper)},
		"replace": {[]datum.Type{datum.Text, datum.Text, datum.Text}, 0, datum.Text, func(_ *execution, v []datum.Datum) (datum.Datum, error) {
			if v[1].Str == "" {
				return v[0], nil
			}
			return text(strings.ReplaceAll(v[0].Str, v[1].Str, v[2].Str)), nil
		}},
		"to_regtype":              {[]datum.Type{datum.Text}, 0, typeRegtype, toRegtype},
		"pg_has_role":             {[]datum.Type{datum.OID, datum.Text}, 0, datum.Bool, hasRole},
		"has_table_privilege":     {[]datum.Type{datum.OID, datum.Text}, 0, datum.Bool, hasTablePrivilege},
		"pg_is_other_temp_schema": {[]datum.Type{datum.OID}, 0, datum.Bool, func(*execution, []datum.Datum) (datum.Datum, error) { return datum.OfBool(false), nil }},
		"pg_my_temp_schema":       {nil, 0, datum.OID, func(*execution, []datum.Datum) (datum.Datum, error) { return number(0), nil }},
	}
}

// unreached are functions that catalogue queries apply to what an empty database does
// not have. They are NULL for NULL; reached with a value they refuse the query.
var unreached = map[string]datum.Type{
	"pg_get_constraintdef": datum.Text, "pg_get_indexdef": datum.Text, "pg_get_viewdef": datum.Text,
	"pg_get_triggerdef": datum.Text, "pg_get_ruledef": datum.Text, "pg_tablespace_location": datum.Text, "has_schema_privilege": datum.Bool,
	"has_database_privilege": datum.Bool, "pg_total_relation_size": datum.Int8, "pg_relation_size": datum.Int8, "pg_table_size": datum.Int8,
	"pg_database_size": datum.Int8, "pg_size_pretty": datum.Text, "shobj_description": datum.Text, "pg_relation_is_updatable": datum.Int4,
}

func (c *compiler) function(n *pg_query.FuncCall) (*expr, error) {
	name, ok := tree.CatalogName(n.Funcname)
	if !ok || n.FuncVariadic || slices.ContainsFunc(n.Args, func(arg *pg_query.Node) bool { return arg.GetNamedArgExpr() != nil }) {
		return nil, refusal("function %s", name)
	}
	if aggregates[name] {
		return c.aggregate(name, n)
	}
	if n.Over != nil || n.AggFilter != nil || n.AggDistinct || n.AggStar || len(n.AggOrder) > 0 {
		return nil, refusal("function %s", name)
	}
	sets := c.scope.setsAllowed
	c.scope.setsAllowed = false
	args, err := c.exprs(n.Args)
	if err != nil {
		return nil, err
	}
	if t, ok := unreached[name]; ok {
		return c.unreached(name, t, args)
	}
	if name == "has_table_privilege" && len(args) == 2 && isText(args[0].t) {
		if args[0], err = c.to(args[0], datum.Text); err == nil {
			args[0], err = c.cast(args[0], typeRegclass, -1)
		}
		if err != nil {
			return nil, err
		}
	}
	if f, ok := builtins[name]; ok {
		return c.builtin(name, f, args)
	}
	if e, err := c.arrayFunction(name, args); e != nil || err != nil {
		return e, err
	}
	if sets {
		return c.setFunction(name, args)
	}
	return nil, refusal("function %s", name)
}

func (c *compiler) unreached(name string, t datum.Type, args []*expr) (*expr, error) {
	for i, e := range args {
		var err error
		if args[i], err = c.typed(e); err != nil {
			return nil, err
		}
	}
	return strict(t, args, func(*execution, []datum.Datum) (datum.Datum, error) { return datum.Null, refusal("function %s", name) }), nil
}

func (c *compiler) builtin(name string, f function, args []*expr) (*expr, error) {
	if len(args) > len(f.args) || len(args) < len(f.args)-f.optional {
		return nil, refusal("this form of function %s", name)
	}
	for i, e := range args {
		converted, err := c.to(e, f.args[i])
		if err != nil {
			return nil, err
		}
		if !passes(converted.t, f.args[i]) {
			return nil, refusal("function %s of %s", name, displayOf(converted.t))
		}
		args[i] = converted
	}
	if name == "format_type" {
		return computed(f.result, func(x *execution, r *row) (datum.Datum, error) { return formatTypeOf(x, r, args) }), nil
	}
	return strict(f.result, args, f.apply), nil
}

// passes says whether a value becomes an argument without a cast that changes it.
func passes(from, to datum.Type) bool {
	return from == to || to == datum.Text && isText(from) && from != datum.Bpchar || to == datum.OID && isNumber(from) || widensTo(from, to)
}

func texts(items []string) []datum.Datum {
	all := make([]datum.Datum, len(items))
	for i, s := range items {
		all[i] = text(s)
	}
	return all
}

func currentSchema(x *execution, _ []datum.Datum) (datum.Datum, error) {
	path := searchPath(x.session, false)
	if len(path) == 0 {
		return datum.Null, nil
	}
	return text(path[0]), nil
}

func currentSetting(x *execution, v []datum.Datum) (datum.Datum, error) {
	value, ok := x.session.Setting(v[0].Str)
	switch {
	case ok:
		return text(value), nil
	case len(v) > 1 && v[1].Bool():
		return datum.Null, nil
	}
	return datum.Null, pgerr.Newf(codes.UndefinedObject, "unrecognized configuration parameter \"%s\"", v[0].Str)
}

func userByID(x *execution, v []datum.Datum) (datum.Datum, error) {
	if name := x.roleName(uint32(v[0].Int)); name != "" {
		return text(name), nil
	}
	return text("unknown (OID=" + itoa(v[0].Int) + ")"), nil
}

func encodingName(_ *execution, v []datum.Datum) (datum.Datum, error) {
	if v[0].Int != utf8 {
		return datum.Null, refusal("the name of an encoding")
	}
	return text("UTF8"), nil
}

// visible says whether a name in a schema is found without it: no schema before it in
// the search path has the name too.
func (x *execution) visible(schema string, has func(schema string) bool) bool {
	for _, other := range searchPath(x.session, true) {
		if other == schema {
			return true
		}
		if has(other) {
			return false
		}
	}
	return false
}

func (x *execution) classVisible(c *class) bool {
	return x.visible(c.schema, func(schema string) bool { return classByName(schema, c.name) != nil })
}

func tableIsVisible(x *execution, v []datum.Datum) (datum.Datum, error) {
	c := classByOID(uint32(v[0].Int))
	if c == nil {
		return datum.Null, nil
	}
	return datum.OfBool(x.classVisible(c)), nil
}

func typeIsVisible(x *execution, v []datum.Datum) (datum.Datum, error) {
	t := typeByOID(uint32(v[0].Int))
	if t == nil {
		return datum.Null, nil
	}
	return datum.OfBool(x.visible(t.namespace, func(schema string) bool { return typeByName(schema, t.name) != nil })), nil
}

func objDescription(x *execution, v []datum.Datum) (datum.Datum, error) {
	catalogue := classByName(pgCatalog, v[1].Str)
	if catalogue == nil {
		return datum.Null, refusal("this description")
	}
	rel := relations()[qualified{pgCatalog, "pg_description"}]
	rows, err := x.relationRows(rel)
	if err != nil {
		return datum.Null, err
	}
	for _, r := range rows {
		if r[0].Int == v[0].Int && r[1].Int == int64(catalogue.oid) && r[2].Int == 0 {
			return r[3], nil
		}
	}
	return datum.Null, nil
}

// columnDescription: no column of the catalogue has a comment.
func columnDescription(*execution, []datum.Datum) (datum.Datum, error) { return datum.Null, nil }

func ascii(change func(string) string) func(*execution, []datum.Datum) (datum.Datum, error) {
	return func(_ *execution, v []datum.Datum) (datum.Datum, error) {
		if strings.ContainsFunc(v[0].Str, func(r rune) bool { return r >= 0x80 }) {
			return datum.Null, refusal("the case of a letter beyond ASCII")
		}
		return text(change(v[0].Str)), nil
	}
}

func toRegtype(x *execution, v []datum.Datum) (datum.Datum, error) {
	name, err := parseTypeName(v[0].Str)
	if err != nil {
		return datum.Null, err
	}
	if found := name.find(); found != nil {
		return x.reg(typeRegtype, found.oid), nil
	}
	return datum.Null, nil
}

func (x *execution) superuser() bool { return x.session.User() == "postgres" }

func hasRole(x *execution, v []datum.Datum) (datum.Datum, error) {
	return datum.OfBool(x.superuser() || x.roleName(uint32(v[0].Int)) == x.session.User()), nil
}

// hasTablePrivilege is about reading, which PUBLIC may or may not.
func hasTablePrivilege(x *execution, v []datum.Datum) (datum.Datum, error) {
	c := classByOID(uint32(v[0].Int))
	if c == nil || !strings.EqualFold(v[1].Str, "select") {
		return datum.Null, refusal("this privilege")
	}
	public := slices.ContainsFunc(strings.Split(strings.Trim(c.acl, "{}"), ","), func(item string) bool { return strings.HasPrefix(item, "=r") })
	return datum.OfBool(x.superuser() || public), nil
}

// arrayFunction is a function of arrays of any type; nil for another name.
func (c *compiler) arrayFunction(name string, args []*expr) (*expr, error) {
	arrays := len(args) > 0 && element(args[0].t) != 0
	switch {
	case name == "pg_get_expr" && (len(args) == 2 || len(args) == 3) && args[0].t == typeNodeTree:
		return strict(datum.Text, args, func(_ *execution, v []datum.Datum) (datum.Datum, error) { return v[0], nil }), nil
	case name == "pg_typeof" && len(args) == 1:
		t := args[0].t
		return computed(typeRegtype, func(x *execution, _ *row) (datum.Datum, error) { return x.reg(typeRegtype, uint32(t)), nil }), nil
	case !arrays:
	case name == "array_to_string" && len(args) == 2:
		separator, err := c.to(args[1], datum.Text)
		if err != nil || !separator.t.IsString() {
			return nil, refusal("this form of function %s", name)
		}
		return strict(datum.Text, []*expr{args[0], separator}, func(x *execution, v []datum.Datum) (datum.Datum, error) {
			return x.joined(args[0].t, v[0], v[1].Str)
		}), nil
	case (name == "array_length" || name == "array_upper" || name == "array_lower") && len(args) == 2, name == "cardinality" && len(args) == 1:
		return measured(name, args), nil
	}
	return nil, nil
}

func (x *execution) joined(t datum.Type, array datum.Datum, separator string) (datum.Datum, error) {
	var items []string
	if readable(element(t)) {
		values, err := x.elements(t, array)
		if err != nil {
			return datum.Null, err
		}
		for _, v := range values {
			if v.Null {
				continue
			}
			s, err := x.output(element(t), v)
			if err != nil {
				return datum.Null, err
			}
			items = append(items, s)
		}
		return text(strings.Join(items, separator)), nil
	}
	all, err := splitArray(array.Str) // of a type that is only shown, such as aclitem
	for _, item := range all {
		if !item.Null {
			items = append(items, item.Str)
		}
	}
	return text(strings.Join(items, separator)), err
}

// measured is the length of an array of one dimension, or one of its bounds.
func measured(name string, args []*expr) *expr {
	t := args[0].t
	return strict(datum.Int4, args, func(x *execution, v []datum.Datum) (datum.Datum, error) {
		items, err := x.elements(t, v[0])
		n, lower := int64(len(items)), lowerBound(t, v[0])
		switch {
		case err != nil:
			return datum.Null, err
		case name == "cardinality":
			return number(n), nil
		case n == 0 || v[1].Int != 1:
			return datum.Null, nil
		case name == "array_upper":
			return number(lower + n - 1), nil
		case name == "array_lower":
			return number(lower), nil
		}
		return number(n), nil
	})
}

// setFunction is a function that returns rows: unnest, generate_subscripts, generate_series.
func (c *compiler) setFunction(name string, args []*expr) (*expr, error) {
	var e *expr
	switch {
	case name == "unnest" && len(args) == 1 && element(args[0].t) != 0:
		t := args[0].t
		e = strict(element(t), args, func(x *execution, v []datum.Datum) (datum.Datum, error) {
			items, err := x.elements(t, v[0])
			if err != nil {
				return datum.Null, err
			}
			return x.array(element(t), items)
		})
	case name == "generate_subscripts" && len(args) == 2 && element(args[0].t) != 0:
		t := args[0].t
		e = strict(datum.Int4, args, func(x *execution, v []datum.Datum) (datum.Datum, error) {
			items, err := x.elements(t, v[0])
			if err != nil || v[1].Int != 1 {
				return datum.Null, err
			}
			first := lowerBound(t, v[0])
			return x.series(first, first+int64(len(items))-1)
		})
	case name == "generate_series" && len(args) == 2 && args[0].t == datum.Int4 && args[1].t == datum.Int4:
		e = strict(datum.Int4, args, func(x *execution, v []datum.Datum) (datum.Datum, error) { return x.series(v[0].Int, v[1].Int) })
	default:
		return nil, refusal("function %s", name)
	}
	if arrayOf(e.t) == 0 {
		return nil, refusal("function %s", name)
	}
	e.set = true
	return e, nil
}

func (x *execution) series(first, last int64) (datum.Datum, error) {
	var values []datum.Datum
	for n := first; n <= last; n++ {
		if err := x.step(); err != nil {
			return datum.Null, err
		}
		values = append(values, number(n))
	}
	return x.array(datum.Int4, values)
}

// valueFunction is one of the functions that SQL writes without parentheses.
func (c *compiler) valueFunction(n *pg_query.SQLValueFunction) (*expr, error) {
	user := func(x *execution, _ *row) (datum.Datum, error) { return text(x.session.User()), nil }
	switch n.Op {
	case pg_query.SQLValueFunctionOp_SVFOP_CURRENT_USER, pg_query.SQLValueFunctionOp_SVFOP_USER,
		pg_query.SQLValueFunctionOp_SVFOP_CURRENT_ROLE, pg_query.SQLValueFunctionOp_SVFOP_SESSION_USER:
		return computed(datum.Name, user), nil
	case pg_query.SQLValueFunctionOp_SVFOP_CURRENT_CATALOG:
		return strict(datum.Name, nil, builtins["current_database"].apply), nil
	case pg_query.SQLValueFunctionOp_SVFOP_CURRENT_SCHEMA:
		return strict(datum.Name, nil, currentSchema), nil
	}
	return nil, refusal("this function")
}
