package expr

import (
	"github.com/jeroenrinzema/psql-wire/codes"
	pg_query "github.com/pganalyze/pg_query_go/v5"

	"raisinproxy/planner/plan"
	"raisinproxy/planner/tree"
	"raisinproxy/sqlfuncs/datum"
	"raisinproxy/sqlfuncs/pgerr"
)

// builtinFunc is one of PostgreSQL's functions that is answered here.
type builtinFunc struct {
	args     []datum.Type
	optional int // how many of the last arguments may be left out
	result   datum.Type
	volatile bool // as pg_proc has it
	ask      func(env plan.Env, args []datum.Datum) (datum.Datum, error)
}

func infoFunc(t datum.Type, kind plan.InfoKind) builtinFunc {
	return builtinFunc{result: t, ask: func(env plan.Env, _ []datum.Datum) (datum.Datum, error) { return env.Info(kind), nil }}
}

func timeFunc(kind plan.TimeKind) builtinFunc {
	return builtinFunc{result: datum.Timestamptz, ask: func(env plan.Env, _ []datum.Datum) (datum.Datum, error) {
		return datum.OfTime(env.Now(kind)), nil
	}}
}

// fixed answers with the same value in every session of an embedded server.
func fixed(t datum.Type, v datum.Datum) builtinFunc {
	return builtinFunc{result: t, ask: func(plan.Env, []datum.Datum) (datum.Datum, error) { return v, nil }}
}

func volatile(f builtinFunc) builtinFunc {
	f.volatile = true
	return f
}

// builtins are the functions of an embedded server and those of the statements
// that clients send by themselves.
var builtins = map[string]builtinFunc{
	"version":               infoFunc(datum.Text, plan.InfoVersion),
	"current_database":      infoFunc(datum.Name, plan.InfoDatabase),
	"current_schema":        infoFunc(datum.Name, plan.InfoSchema),
	"pg_backend_pid":        infoFunc(datum.Int4, plan.InfoBackendPID),
	"now":                   timeFunc(plan.TransactionTime),
	"transaction_timestamp": timeFunc(plan.TransactionTime),
	"statement_timestamp":   timeFunc(plan.StatementTime),
	"clock_timestamp":       volatile(timeFunc(plan.ClockTime)),
	"pg_is_in_recovery":     fixed(datum.Bool, datum.OfBool(false)),
	// No session holds an advisory lock here; pools call this when they take a
	// session back.
	"pg_advisory_unlock_all": volatile(fixed(datum.Void, datum.Datum{})),
	"pg_client_encoding": {result: datum.Name, ask: func(env plan.Env, _ []datum.Datum) (datum.Datum, error) {
		value, _ := env.Setting("client_encoding")
		return datum.OfText(value), nil
	}},
	"current_setting": {args: []datum.Type{datum.Text, datum.Bool}, optional: 1, result: datum.Text, ask: currentSetting},
	"set_config":      {volatile: true, args: []datum.Type{datum.Text, datum.Text, datum.Bool}, result: datum.Text, ask: setConfig},
	"format_type":     {args: []datum.Type{datum.OID, datum.Int4}, result: datum.Text, ask: formatType},
}

// Volatility says of a function whether it is one of builtins, and volatile.
func Volatility(name string) (volatile, ok bool) {
	f, ok := builtins[name]
	return f.volatile, ok
}

func (c *Compiler) builtin(name string, n *pg_query.FuncCall, args []argument) (Expr, *pgerr.Error) {
	f, ok := builtins[name]
	plain := n.Over == nil && n.AggFilter == nil && !n.AggDistinct && !n.AggStar && !n.FuncVariadic && len(n.AggOrder) == 0
	if !ok || !plain || len(args) > len(f.args) || len(args) < len(f.args)-f.optional {
		return nil, c.NeedsUpstream(n.Location, "function %s", tree.Qualified(n.Funcname))
	}
	values := make([]Expr, len(args))
	for i, arg := range args {
		if arg.name != "" || !coerces(arg.value.Type(), f.args[i]) {
			return nil, c.NeedsUpstream(n.Location, "this form of function %s", tree.Qualified(n.Funcname))
		}
		converted, _, err := c.Implicit(arg.value, f.args[i])
		if err != nil {
			return nil, err
		}
		values[i] = converted
	}
	return &session{t: f.result, args: values, ask: f.ask}, nil
}

func currentSetting(env plan.Env, args []datum.Datum) (datum.Datum, error) {
	for _, arg := range args {
		if arg.Null {
			return datum.Null, nil
		}
	}
	value, ok := env.Setting(args[0].Str)
	switch {
	case ok:
		return datum.OfText(value), nil
	case len(args) > 1 && args[1].Bool():
		return datum.Null, nil
	}
	return datum.Null, pgerr.Newf(codes.UndefinedObject, "unrecognized configuration parameter \"%s\"", args[0].Str)
}

func setConfig(env plan.Env, args []datum.Datum) (datum.Datum, error) {
	if args[0].Null {
		return datum.Null, pgerr.Newf(codes.NullValueNotAllowed, "SET requires parameter name")
	}
	value, err := env.SetSetting(args[0].Str, args[1].Str, !args[2].Null && args[2].Bool())
	return datum.OfText(value), err
}

// formatType covers what \gdesc asks: the types of results.
func formatType(_ plan.Env, args []datum.Datum) (datum.Datum, error) {
	if args[0].Null {
		return datum.Null, nil
	}
	t := datum.Type(args[0].Int)
	if !args[1].Null && args[1].Int > 0 && t == datum.Varchar {
		length := string(datum.AppendText(nil, datum.Int4, datum.OfInt(args[1].Int-4), nil))
		return datum.OfText(t.String() + "(" + length + ")"), nil
	}
	return datum.OfText(t.String()), nil
}

// valueFunction is one of the functions that SQL writes without parentheses.
func (c *Compiler) valueFunction(n *pg_query.SQLValueFunction) (Expr, *pgerr.Error) {
	f, ok := valueFunctions[n.Op]
	if !ok {
		return nil, c.NeedsUpstream(n.Location, "this function")
	}
	return &session{t: f.result, ask: f.ask}, nil
}

var valueFunctions = map[pg_query.SQLValueFunctionOp]builtinFunc{
	pg_query.SQLValueFunctionOp_SVFOP_CURRENT_USER:      infoFunc(datum.Name, plan.InfoCurrentUser),
	pg_query.SQLValueFunctionOp_SVFOP_USER:              infoFunc(datum.Name, plan.InfoCurrentUser),
	pg_query.SQLValueFunctionOp_SVFOP_CURRENT_ROLE:      infoFunc(datum.Name, plan.InfoCurrentUser),
	pg_query.SQLValueFunctionOp_SVFOP_SESSION_USER:      infoFunc(datum.Name, plan.InfoSessionUser),
	pg_query.SQLValueFunctionOp_SVFOP_CURRENT_CATALOG:   infoFunc(datum.Name, plan.InfoDatabase),
	pg_query.SQLValueFunctionOp_SVFOP_CURRENT_SCHEMA:    infoFunc(datum.Name, plan.InfoSchema),
	pg_query.SQLValueFunctionOp_SVFOP_CURRENT_TIMESTAMP: timeFunc(plan.TransactionTime),
}
