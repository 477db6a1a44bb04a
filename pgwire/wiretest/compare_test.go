package wiretest_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"raisinproxy/pgwire/wiretest"
)

// CompareDir leaves a script as it is, whatever flag the tests run with.
func TestCompareDirDoesNotRewrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "script.txt")
	script := []byte("# No blank line at the end, which a rewriting would add.\nconnect\n----\nR Ok\nK\nZ I")
	if err := os.WriteFile(path, script, 0o600); err != nil {
		t.Fatal(err)
	}
	wiretest.CompareDir(t, filepath.Dir(path), wiretest.PostgresTarget)
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, script) {
		t.Errorf("%v, the script is now:\n%s", err, after)
	}
}
