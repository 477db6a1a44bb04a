package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// problem is one thing that is wrong with the configuration.
type problem struct {
	file string // "" if a flag or the environment is wrong
	line int    // 0 if the file does not have the key
	key  string // "pgwire.port", "--port", "RAISIN_PORT"; "" for the file as a whole
	text string
}

func (p problem) String() string {
	var b strings.Builder
	if p.file != "" {
		b.WriteString(p.file)
		if p.line > 0 {
			fmt.Fprintf(&b, ":%d", p.line)
		}
		b.WriteString(": ")
	}
	if p.key != "" {
		b.WriteString(p.key + ": ")
	}
	return b.String() + p.text
}

// sortProblems puts them in the order of the file; what is in no file comes first.
func sortProblems(problems []problem) {
	slices.SortStableFunc(problems, func(a, b problem) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line))
	})
}

// document is a config file: its values, and where they are.
type document struct {
	path  string
	tree  map[string]any
	lines map[string]int // by path of the key or section
}

// readDocument gives all that comes before a syntax error, and the error.
func readDocument(path string) (*document, *problem) {
	doc := &document{path: path, tree: map[string]any{}, lines: map[string]int{}}
	source, err := os.ReadFile(path)
	if err != nil {
		return doc, &problem{text: "cannot read the config file: " + err.Error()}
	}
	doc.findLines(source)
	err = toml.Unmarshal(source, &doc.tree)
	if err == nil {
		return doc, nil
	}
	p := &problem{file: path, text: strings.TrimPrefix(err.Error(), "toml: ")}
	// Its String would quote the lines around, which may hold a password.
	if syntax, ok := errors.AsType[*toml.DecodeError](err); ok {
		p.line, _ = syntax.Position()
	}
	return doc, p
}

// findLines notes the line of every section and key. The decoder checks the syntax;
// here it ends the walk.
func (d *document) findLines(source []byte) {
	var parser unstable.Parser
	parser.Reset(source)
	var section []string
	for parser.NextExpression() {
		node := parser.Expression()
		switch node.Kind {
		case unstable.Table, unstable.ArrayTable:
			section = d.note(&parser, nil, node.Key())
		case unstable.KeyValue:
			d.noteKeyValue(&parser, section, node)
		}
	}
}

func (d *document) noteKeyValue(parser *unstable.Parser, prefix []string, node *unstable.Node) {
	path := d.note(parser, prefix, node.Key())
	if node.Value().Kind != unstable.InlineTable {
		return
	}
	for it := node.Value().Children(); it.Next(); {
		if it.Node().Kind == unstable.KeyValue {
			d.noteKeyValue(parser, path, it.Node())
		}
	}
}

// note remembers the first line of each part of a dotted key and gives its path.
func (d *document) note(parser *unstable.Parser, prefix []string, parts unstable.Iterator) []string {
	path := slices.Clone(prefix)
	for parts.Next() {
		path = append(path, string(parts.Node().Data))
		name := joinKey(path)
		if _, known := d.lines[name]; !known {
			d.lines[name] = parser.Shape(parts.Node().Raw).Start.Line
		}
	}
	return path
}

// lineOf is the line of a key or else of the nearest section around it; 0 if the
// file has neither.
func (d *document) lineOf(path string) int {
	for {
		if line := d.lines[path]; line > 0 {
			return line
		}
		dot := strings.LastIndexByte(path, '.')
		if dot < 0 {
			return 0
		}
		path = path[:dot]
	}
}

func (d *document) has(path string) bool { return d.lines[path] > 0 }

// apply gives every value of the document to its key.
func (d *document) apply(keys []key) []problem {
	a := applier{doc: d, byPath: map[string]setter{}, sections: map[string]bool{}}
	for _, k := range keys {
		a.byPath[k.path] = k.set
		for path := k.path; strings.Contains(path, "."); {
			path = path[:strings.LastIndexByte(path, '.')]
			a.sections[path] = true
		}
	}
	a.section(nil, d.tree)
	return a.problems
}

type applier struct {
	doc      *document
	byPath   map[string]setter
	sections map[string]bool
	problems []problem
}

func (a *applier) section(prefix []string, tree map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		parts := append(slices.Clone(prefix), name)
		path, value := joinKey(parts), tree[name]
		inner, isSection := value.(map[string]any)
		if set, ok := a.byPath[path]; ok {
			if err := set(value); err != nil {
				a.add(path, err.Error())
			}
			continue
		}
		switch {
		case isSection && (a.sections[path] || len(inner) > 0):
			// Keys of an unknown section are unknown, each with its nearest.
			a.section(parts, inner)
		case a.sections[path]:
			a.add(path, mustBe("a section", value).Error())
		case isSection:
			a.add(path, fmt.Sprintf("unknown section; the nearest known section is [%s]", nearest(path, maps.Keys(a.sections))))
		default:
			a.add(path, fmt.Sprintf("unknown key; the nearest known key is %s", nearest(path, maps.Keys(a.byPath))))
		}
	}
}

func (a *applier) add(path, text string) {
	a.problems = append(a.problems, problem{file: a.doc.path, line: a.doc.lineOf(path), key: path, text: text})
}

// joinKey writes a key as TOML would: parts that are not bare are quoted.
func joinKey(parts []string) string {
	shown := make([]string, len(parts))
	for i, part := range parts {
		bare := part != "" && strings.Trim(part, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
		if shown[i] = part; !bare {
			shown[i] = strconv.Quote(part)
		}
	}
	return strings.Join(shown, ".")
}
