//go:build linux

package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"raisinproxy/internal/documents"
)

var rewrite = flag.Bool("documents.rewrite", false, "write what the commands of README.md and docs print into them")

// readable are the documents whose blocks are run.
var readable = []string{
	"README.md", "CONTRIBUTING.md", "docs/guide.md", "docs/reference.md", "docs/operations.md",
	"docs/postgresql.md", "docs/performance.md", "docs/reliability.md",
}

// TestDocuments does what the documents say: it writes their files, types their commands
// and compares what is printed with what they show. CONTRIBUTING.md says how a block
// is written; -v lists those that are not run, and why.
func TestDocuments(t *testing.T) {
	present(t, "psql")
	program := filepath.Join(build(t, "./cmd/raisinproxy"), "raisinproxy")
	for _, name := range readable {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(repository, name)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			blocks, err := documents.Blocks(string(text))
			if err != nil {
				t.Fatal(err)
			}
			reader := newReader(t, program)
			again := string(text)
			for _, b := range blocks {
				if shown := reader.read(t, b); shown != b.Text {
					again = strings.Replace(again, b.Text, shown, 1)
				}
			}
			reader.unused(t)
			if *rewrite && again != string(text) {
				if err := os.WriteFile(path, []byte(again), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestDocumentsAreListed fails for a document whose blocks nobody runs. TestMalformed runs
// docs/malformed.md.
func TestDocumentsAreListed(t *testing.T) {
	found, err := filepath.Glob(filepath.Join(repository, "docs/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range found {
		name := "docs/" + filepath.Base(path)
		if name != "docs/malformed.md" && !slices.Contains(readable, name) {
			t.Errorf("TestDocuments does not read %s", name)
		}
	}
}

// reader follows one document, in a folder of its own.
type reader struct {
	place  *place
	tokens documents.Tokens
	shell  *shell
	files  map[string]bool // that the document has; true: a later command names it
}

func newReader(t *testing.T, program string) *reader {
	t.Helper()
	return &reader{place: newPlace(t, program), tokens: documents.Tokens{}, files: map[string]bool{}}
}

// read does what a block says and returns the text that the block should have.
func (r *reader) read(t *testing.T, b documents.Block) string {
	t.Helper()
	r.place.upstream = slices.Contains(b.Words, "postgres")
	switch name := b.File(); {
	case b.NotRun != "":
		t.Logf("line %d: %s is not run: %s", b.Line, b.Language, b.NotRun)
	case b.Language == "console":
		return r.console(t, b)
	case name != "":
		r.files[name] = false
		r.place.write(t, name, b.Text)
	default:
		t.Errorf("line %d: a block is a console's, or a file whose first line is a comment with its name, or says not-run=\"why\"", b.Line)
	}
	return b.Text
}

func (r *reader) console(t *testing.T, b documents.Block) string {
	t.Helper()
	entries, err := documents.Entries(b.Text)
	if err != nil {
		t.Fatalf("line %d: %v", b.Line, err)
	}
	if strings.Contains(b.Text, "raisinproxy --config") || slices.Contains(b.Words, "server") {
		r.place.started[r.place.upstream] = true // by the document itself
	}
	r.place.start(t)
	if r.shell == nil {
		r.shell = startShell(t, r.place)
	}
	r.shell.use(t, r.place.port())
	var terminal *psqlTerminal
	leave := func() {
		if terminal != nil {
			terminal.enter(t, `\q`)
			terminal.cmd.Wait() // an error of psql's is in what it printed
			terminal = nil
		}
	}
	defer leave()
	for i, e := range entries {
		for name := range r.files {
			r.files[name] = r.files[name] || strings.Contains(e.Input, name)
		}
		input := r.place.real(t, r.tokens.Input(e.Input))
		var got string
		switch {
		case !e.Shell():
			if terminal == nil {
				t.Fatalf("line %d: nobody has started psql for %q", b.Line, e.Input)
			}
			got = r.enter(t, b, terminal, entries[i:], input)
		case i+1 < len(entries) && !entries[i+1].Shell():
			leave()
			terminal = startPsqlAs(t, r.place, input)
			_, prompt := terminal.prompt(t)
			r.samePrompt(t, b, entries[i+1], prompt)
		default:
			leave()
			if slices.Contains(b.Words, "server") && i == len(entries)-1 {
				input += " &"
			}
			got = r.shell.run(t, input)
		}
		got = r.place.shown(got)
		if r.tokens.Match(e.Output, got) {
			continue
		}
		if *rewrite {
			entries[i].Output = written(got, i == len(entries)-1)
			continue
		}
		t.Errorf("line %d: %s%s\n--- prints\n%s--- the document shows\n%s", b.Line, e.Prompt, input, got, e.Output)
	}
	return documents.Transcript(entries)
}

// written is an output as a document has it: without spaces at the ends of lines, and
// without the empty line after psql's last answer.
func written(output string, last bool) string {
	text := documents.Tidy(output)
	if text != "" {
		text += "\n"
	}
	if !last && strings.HasSuffix(output, "\n\n") {
		text += "\n"
	}
	return text
}

// enter types the first of the entries and returns what psql prints then. The prompt that
// follows has to be that of the second.
func (r *reader) enter(t *testing.T, b documents.Block, terminal *psqlTerminal, entries []documents.Entry, input string) string {
	t.Helper()
	terminal.enter(t, input)
	output, prompt := terminal.prompt(t)
	if len(entries) > 1 && !entries[1].Shell() {
		r.samePrompt(t, b, entries[1], prompt)
	}
	_, output, _ = strings.Cut(output, "\n") // the echo
	return output
}

func (r *reader) samePrompt(t *testing.T, b documents.Block, e documents.Entry, prompt string) {
	t.Helper()
	if prompt != e.Prompt {
		t.Fatalf("line %d: the prompt before %q is %q, not %q", b.Line, e.Input, prompt, e.Prompt)
	}
}

// unused fails for files that a reader is told to write and never to use.
func (r *reader) unused(t *testing.T) {
	t.Helper()
	for name, used := range r.files {
		if !used {
			t.Errorf("no command uses the file %s", name)
		}
	}
}

// prompt reads the screen up to the next prompt.
func (p *psqlTerminal) prompt(t *testing.T) (output, prompt string) {
	t.Helper()
	for {
		if output, prompt, ok := documents.CutPrompt(string(p.screen)); ok {
			p.screen = nil
			return output, prompt
		}
		p.look(t, "a prompt")
	}
}

// upstreamConfig is what the program needs to stand before a PostgreSQL that lets it in.
func upstreamConfig(url string) string {
	return fmt.Sprintf(`
[auth]
method = "trust"
[locks]
enabled = true
[upstream]
url = %q
`, url)
}
