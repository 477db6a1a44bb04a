package identity

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A client that asks for a user's salt gets one whether or not there is such a user. Those
// of users stay as they are for years, so those of others must too: a salt that changed
// with a restart would tell that nobody has this name. Hence they are derived from the name
// and a secret that is kept in a file.

// saltSecret is what salts are derived from for names without a verifier.
type saltSecret []byte

// newSaltSecret makes one that dies with the process.
func newSaltSecret() saltSecret {
	secret := make(saltSecret, sha256.Size)
	rand.Read(secret) // never fails: see crypto/rand
	return secret
}

// saltOf is the same for a name as long as the secret is.
func (s saltSecret) saltOf(user string) []byte { return mac(s, user)[:saltBytes] }

// LoadSaltSecret reads the secret for PolicyOptions.SaltSecret from a file, which it makes,
// with its folder, if there is none. Processes may do so at once. The file is for its owner
// only; who reads it can tell which users exist, and nothing else.
func LoadSaltSecret(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeSaltSecret(path); err != nil {
			return nil, err
		}
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, err
	}
	secret, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(secret) < sha256.Size {
		return nil, fmt.Errorf("%s is not a secret for salts: remove it, and one is made anew", path)
	}
	return secret, nil
}

// makeSaltSecret puts the file there whole or not at all; that of another process may stay.
func makeSaltSecret(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }() // another name for what is there by then
	_, err = file.WriteString(encode64(newSaltSecret()) + "\n")
	err = errors.Join(err, file.Sync(), file.Close())
	if err != nil {
		return err
	}
	if err := os.Link(file.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
