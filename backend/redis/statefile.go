package redis

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// state is what a proxy remembers of Redis, in its state file too.
type state struct {
	Namespace string `json:"namespace"`
	// Proxy is a random name of this proxy, under which its beats are in the id record.
	Proxy string `json:"proxy"`
	// ID is the id of the name space; "" before the first contact.
	ID string `json:"id"`
	// Lost says which loss of state was noticed and not adopted yet; "" is none.
	Lost string `json:"lost,omitempty"`
	// Beat is the last one that Redis acknowledged.
	Beat int64 `json:"beat"`
	// Floor is what every token has to be above.
	Floor int64 `json:"floor"`
	// Seen is when Nodes, the masters by address, were looked at.
	Seen  time.Time       `json:"seen"`
	Nodes map[string]node `json:"nodes"`
}

// node is a master as it was seen last.
type node struct {
	RunID  string `json:"run_id"`
	ReplID string `json:"replid"`
	Offset int64  `json:"offset"`
}

// readState reads a state file, or begins a new one. It fails if the file cannot be
// read, written, or is of another name space.
func readState(path, namespace string) (state, error) {
	fresh := state{Namespace: namespace, Proxy: rand.Text()}
	if path == "" {
		return fresh, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fresh, nil
	}
	if err != nil {
		return state{}, fmt.Errorf("state file: %w", err)
	}
	var old state
	if err := json.Unmarshal(text, &old); err != nil {
		return state{}, fmt.Errorf("state file %s: %w", path, err)
	}
	if old.Namespace != namespace || old.Proxy == "" {
		return state{}, fmt.Errorf("state file %s is of the namespace %q, not of %q: each needs its own file", path, old.Namespace, namespace)
	}
	return old, nil
}

// write replaces the file as a whole, so that a crash leaves the old or the new one.
func (s *state) write(path string) error {
	if path == "" {
		return nil
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".")
	if err != nil {
		return fmt.Errorf("state file: %w", err)
	}
	_, err = file.Write(append(text, '\n'))
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(file.Name()))
		return fmt.Errorf("state file: %w", err)
	}
	return nil
}
