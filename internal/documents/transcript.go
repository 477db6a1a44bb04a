package documents

import (
	"errors"
	"regexp"
	"strings"
)

// Entry is what was typed at a prompt, of the shell or of psql, and what came then.
type Entry struct {
	Prompt string // "$ ", "shop=> ", "shop-> ", "shop=*> "
	Input  string // without the newline
	Output string // whole lines
}

// Shell says that the prompt is the shell's.
func (e Entry) Shell() bool { return e.Prompt == shellPrompt }

const shellPrompt = "$ "

// A prompt of psql: the database, what psql waits for, what the transaction is like.
const psqlPrompt = `[a-z_]+[=\-'"(*][*!?]?[>#] `

var (
	atPrompt  = regexp.MustCompile(`^(?:\$ |` + psqlPrompt + `)`)
	endPrompt = regexp.MustCompile(`(?:^|\n)(` + psqlPrompt + `)$`)
)

// Entries reads the text of a console block.
func Entries(text string) ([]Entry, error) {
	var entries []Entry
	for line := range strings.Lines(text) {
		if prompt := atPrompt.FindString(line); prompt != "" {
			entries = append(entries, Entry{Prompt: prompt, Input: strings.TrimRight(line[len(prompt):], "\n")})
			continue
		}
		if len(entries) == 0 {
			return nil, errors.New("a console block begins with a prompt: " + line)
		}
		entries[len(entries)-1].Output += line
	}
	return entries, nil
}

// CutPrompt parts a screen in what psql printed and the prompt at which it waits. ok is
// false while it does not wait.
func CutPrompt(screen string) (output, prompt string, ok bool) {
	at := endPrompt.FindStringSubmatchIndex(screen)
	if at == nil {
		return screen, "", false
	}
	return screen[:at[2]], screen[at[2]:], true
}

// Transcript is the text of a console block that has these entries.
func Transcript(entries []Entry) string {
	var b strings.Builder
	for _, e := range entries {
		b.WriteString(e.Prompt + e.Input + "\n" + e.Output)
	}
	return b.String()
}
