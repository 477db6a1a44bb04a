package identity

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestSaltsOutliveTheProcess: those of users without a verifier, and of no users, as those
// of users with one do.
func TestSaltsOutliveTheProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "SALTS")
	told := func(path string) (all [3]string) {
		secret, err := LoadSaltSecret(path)
		if err != nil {
			t.Fatal(err)
		}
		p, err := NewPolicy(PolicyOptions{Method: SCRAM, Users: parse(t, someUsers), SaltSecret: secret})
		if err != nil {
			t.Fatal(err)
		}
		for i, user := range []string{"alice", "bob", "mallory"} {
			all[i] = challenge(t, p, user)
		}
		return all
	}
	before := told(path)
	if after := told(path); after != before {
		t.Errorf("after a restart %q, before %q", after, before)
	}
	if other := told(path + "2"); other[0] != before[0] || other[1] == before[1] || other[2] == before[2] {
		t.Errorf("with another secret %q, with this %q", other, before)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the secret can be read by others: %v, %v", info.Mode(), err)
	}
	if err := os.WriteFile(path, []byte("AAAA\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if secret, err := LoadSaltSecret(path); err == nil {
		t.Errorf("took a file of 3 bytes for the secret %q", secret)
	}
}

// TestSaltSecretIsMadeOnce: processes that start together with one file agree.
func TestSaltSecretIsMadeOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "SALTS")
	secrets := make([]string, 8)
	var group sync.WaitGroup
	for i := range secrets {
		group.Go(func() {
			secret, err := LoadSaltSecret(path)
			if err != nil {
				t.Error(err)
			}
			secrets[i] = string(secret)
		})
	}
	group.Wait()
	for _, secret := range secrets {
		if secret != secrets[0] {
			t.Fatal("two secrets")
		}
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
