package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// errStale: the text that a mutant changes is gone.
var errStale = errors.New("the text to replace is gone")

// changed is the text of the suite's files with a mutant's edits in them, by path.
func (s *suite) changed(root string, edits []edit) (map[string]string, error) {
	files := make(map[string]string)
	for _, e := range edits {
		path := filepath.Join(root, s.dir, e.file)
		text, ok := files[path]
		if !ok {
			original, err := os.ReadFile(path)
			if err != nil {
				return nil, fmt.Errorf("%w: %w", errStale, err)
			}
			text = string(original)
		}
		if e.from == "" || !strings.Contains(text, e.from) {
			return nil, fmt.Errorf("%w from %s", errStale, e.file)
		}
		files[path] = withImports(path, strings.ReplaceAll(text, e.from, e.to), e.to)
	}
	return files, nil
}

// used finds the packages that a fault may need.
var used = regexp.MustCompile(`\b(fmt|math|runtime|strings|time)\.[A-Z]`)

// withImports adds the imports that the added text needs.
func withImports(path, text, added string) string {
	if filepath.Ext(path) != ".go" {
		return text
	}
	for _, match := range used.FindAllStringSubmatch(added, -1) {
		if quoted := `"` + match[1] + `"`; !strings.Contains(text, quoted) {
			text = strings.Replace(text, "import (", "import (\n\t"+quoted, 1)
		}
	}
	return text
}

// build makes the suite's binary with the files changed, in dir. The error is what the
// go tool says.
func (s *suite) build(ctx context.Context, root, dir string, files map[string]string) (binary string, err error) {
	replace := make(map[string]string)
	for path, text := range files {
		changed := filepath.Join(dir, fmt.Sprintf("%d-%s", len(replace), filepath.Base(path)))
		if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[path] = changed
	}
	spec, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, spec, 0o600); err != nil {
		return "", err
	}
	binary = filepath.Join(dir, "tests")
	// Without symbols for debuggers it is linked in half the time.
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", binary, s.pkg)
	cmd.Dir = root
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, said)
	}
	return binary, nil
}
