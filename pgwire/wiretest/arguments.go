package wiretest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/datadriven"
)

// arguments are those of one command. Reading one marks it as used; what is left
// over is a typing error.
type arguments struct {
	all  []datadriven.CmdArg
	used map[string]bool
}

func parseArgs(all []datadriven.CmdArg) (*arguments, error) {
	seen := map[string]bool{}
	for _, arg := range all {
		if seen[arg.Key] && arg.Key != "let" && arg.Key != "mask" {
			return nil, fmt.Errorf("argument %s is given twice", arg.Key)
		}
		seen[arg.Key] = true
	}
	return &arguments{all: all, used: map[string]bool{}}, nil
}

func (a *arguments) find(key string) *datadriven.CmdArg {
	a.used[key] = true
	for i := range a.all {
		if a.all[i].Key == key {
			return &a.all[i]
		}
	}
	return nil
}

func (a *arguments) has(key string) bool  { return a.find(key) != nil }
func (a *arguments) flag(key string) bool { return a.find(key) != nil }

// bare is true for a key without a value.
func (a *arguments) bare(key string) bool {
	arg := a.find(key)
	return arg != nil && len(arg.Vals) == 0
}

func (a *arguments) list(key string) []string {
	if arg := a.find(key); arg != nil {
		return arg.Vals
	}
	return nil
}

func (a *arguments) text(key, otherwise string) string {
	if arg := a.find(key); arg != nil {
		return strings.Join(arg.Vals, ",")
	}
	return otherwise
}

// number is 0 where the argument is missing or not a number.
func (a *arguments) number(key string) int {
	n, err := strconv.Atoi(a.text(key, "0"))
	if err != nil {
		return 0
	}
	return n
}

func (a *arguments) connection() string { return a.text("conn", "a") }

func (a *arguments) view() view {
	return view{oids: a.flag("oids"), fields: a.flag("fields"), brief: a.flag("brief"), hide: a.text("hide", "")}
}

// rest are the arguments that nothing has asked for yet.
func (a *arguments) rest() []datadriven.CmdArg { return a.restBut() }

func (a *arguments) restBut(keys ...string) []datadriven.CmdArg {
	var rest []datadriven.CmdArg
	for _, arg := range a.all {
		if !a.used[arg.Key] && !slices.Contains(keys, arg.Key) {
			rest = append(rest, arg)
		}
	}
	for _, arg := range rest {
		a.used[arg.Key] = true
	}
	return rest
}

func (a *arguments) unused() []string {
	var keys []string
	for _, arg := range a.rest() {
		keys = append(keys, arg.Key)
	}
	return keys
}

// masks are the arguments mask=…, as a list of what stands behind them.
func (a *arguments) masks() []datadriven.CmdArg {
	a.used["mask"] = true
	var masks []datadriven.CmdArg
	for _, arg := range a.all {
		if arg.Key == "mask" {
			for _, value := range arg.Vals {
				masks = append(masks, datadriven.CmdArg{Key: value})
			}
		}
	}
	return masks
}

// capture reads let=name:column and let=name:row:column.
func (a *arguments) capture(from *answer, into map[string]string) error {
	a.used["let"] = true
	for _, arg := range a.all {
		if arg.Key != "let" {
			continue
		}
		for _, spec := range arg.Vals {
			name, value, err := from.lookup(spec)
			if err != nil {
				return fmt.Errorf("let=%s: %w", spec, err)
			}
			into[name] = value
		}
	}
	return nil
}

func (a *answer) lookup(spec string) (name, value string, err error) {
	parts := strings.Split(spec, ":")
	number := 1
	switch len(parts) {
	case 2:
	case 3:
		if number, err = strconv.Atoi(parts[1]); err != nil {
			return "", "", err
		}
	default:
		return "", "", fmt.Errorf("write name:column or name:row:column")
	}
	if number < 1 || number > len(a.rows) {
		return "", "", fmt.Errorf("there is no row %d", number)
	}
	r := a.rows[number-1]
	wanted := parts[len(parts)-1]
	i := slices.IndexFunc(r.columns, func(c column) bool { return c.name == wanted })
	if n, err := strconv.Atoi(wanted); err == nil {
		i = n - 1
	}
	if i < 0 || i >= len(r.values) || r.values[i] == nil {
		return "", "", fmt.Errorf("row %d has no value %q", number, wanted)
	}
	return parts[0], string(r.values[i]), nil
}

// reference is a variable or a repetition in a script's input.
var reference = regexp.MustCompile(`\$(?:repeat\((\d+),\s*("(?:[^"\\]|\\.)*")\)|([a-z_]\w*))`)

// expand puts values for variables and repetitions. Other dollars, such as
// parameters and dollar quotes, stay as they are.
func expand(input string, variables map[string]string) (string, error) {
	var fault error
	expanded := reference.ReplaceAllStringFunc(input, func(found string) string {
		parts := reference.FindStringSubmatch(found)
		if parts[3] != "" {
			if value, ok := variables[parts[3]]; ok {
				return value
			}
			return found
		}
		n, err := strconv.Atoi(parts[1])
		if err != nil {
			fault = err
		}
		text, err := strconv.Unquote(parts[2])
		if err != nil {
			fault = fmt.Errorf("%s: %w", found, err)
		}
		return strings.Repeat(text, n)
	})
	return expanded, fault
}

// showVariables shows a captured value by its name where it stands as a whole
// word. Short values would hit by chance, so they stay.
func showVariables(line string, variables map[string]string) string {
	const shortest = 8
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		value := variables[name]
		if len(value) >= shortest {
			whole := regexp.MustCompile(`\b` + regexp.QuoteMeta(value) + `\b`)
			line = whole.ReplaceAllLiteralString(line, "$"+name)
		}
	}
	return line
}

// mask hides what differs from run to run.
type mask struct {
	pattern *regexp.Regexp
	instead string
}

var (
	tokenMask        = mask{regexp.MustCompile(`\b\d{16}\b`), "<token>"}
	millisecondsMask = mask{regexp.MustCompile(`\b\d{13}\b`), "<ms>"}
)

// parseMasks reads `token` and /regular expression/.
func parseMasks(args []datadriven.CmdArg) ([]mask, error) {
	var masks []mask
	for _, arg := range args {
		switch text := arg.String(); {
		case text == "token":
			masks = append(masks, tokenMask, millisecondsMask)
		case len(text) > 2 && text[0] == '/' && text[len(text)-1] == '/':
			pattern, err := regexp.Compile(text[1 : len(text)-1])
			if err != nil {
				return nil, err
			}
			masks = append(masks, mask{pattern, "<masked>"})
		default:
			return nil, fmt.Errorf("mask %q: token and /regular expression/ are known", text)
		}
	}
	return masks, nil
}
