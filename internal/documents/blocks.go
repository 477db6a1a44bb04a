package documents

import (
	"fmt"
	"regexp"
	"strings"
)

// Block is a fenced block. Its info string is a language, words, and a reason why it is
// not run: ```console postgres, ```toml not-run="needs certificates".
type Block struct {
	Language string
	Words    []string
	NotRun   string
	Text     string // with the newline of its last line
	Line     int    // of the first line of Text in the document, from 1
}

var infoPart = regexp.MustCompile(`^\s*(?:not-run="([^"]+)"|([a-z]+))`)

// Blocks are the fenced blocks of a document, in order.
func Blocks(markdown string) ([]Block, error) {
	var blocks []Block
	var open *Block
	number := 0
	for line := range strings.Lines(markdown) {
		number++
		info, fence := strings.CutPrefix(strings.TrimRight(line, "\n"), "```")
		switch {
		case open != nil && fence && info == "":
			blocks, open = append(blocks, *open), nil
		case open != nil:
			open.Text += line
		case fence:
			b, err := parseInfo(info)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", number, err)
			}
			b.Line, open = number+1, &b
		}
	}
	if open != nil {
		return nil, fmt.Errorf("the block of line %d has no end", open.Line)
	}
	return blocks, nil
}

func parseInfo(info string) (Block, error) {
	var b Block
	for rest := info; strings.TrimSpace(rest) != ""; {
		part := infoPart.FindStringSubmatch(rest)
		if part == nil {
			return b, fmt.Errorf("neither a word nor not-run=\"…\": %q", rest)
		}
		rest = rest[len(part[0]):]
		switch {
		case part[1] != "":
			b.NotRun = part[1]
		case b.Language == "":
			b.Language = part[2]
		default:
			b.Words = append(b.Words, part[2])
		}
	}
	return b, nil
}

var fileName = regexp.MustCompile(`^(?:#|//|--) ([\w.-]+\.(?:toml|py|js|go|sql))\b`)

// File is the name of the file that a block is, which its first line says in a comment.
func (b Block) File() string {
	if name := fileName.FindStringSubmatch(b.Text); name != nil {
		return name[1]
	}
	return ""
}
