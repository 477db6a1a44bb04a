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

	"raisinproxy/backend"
)

// state is what a proxy remembers of Redis, in its state file too.
type state struct {
	Namespace string `json:"namespace"`
	// Proxy is a random name of this proxy, under which it leaves its beats.
	Proxy string `json:"proxy"`
	// ID is the id of the name space; "" before the first contact.
	ID string `json:"id"`
	// Lost says which loss of state was noticed and not adopted yet; "" is none.
	Lost string `json:"lost,omitempty"`
	// Paused is until when nothing is granted after that.
	Paused time.Time `json:"paused,omitzero"`
	// Beats are the last ones that Redis acknowledged, by key.
	Beats map[string]beatState `json:"beats"`
	// Floor is what every token has to be above.
	Floor int64 `json:"floor"`
	// Earliest is the server time before which nothing is granted, and what every token has to be above then.
	Earliest int64 `json:"earliest,omitempty"`
	// Early is when that is waited for no longer: the server's time was far ahead, and is right again.
	Early time.Time `json:"early,omitzero"`
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

// beatState is a beat as it was left last.
type beatState struct {
	Name string `json:"name"` // of the beat, random: one that was made anew has another
	Last int64  `json:"last"`
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
		return state{}, fmt.Errorf("state file %s is cut off or damaged (%w): what this proxy knew of Redis is gone. "+
			"See that the pools are what they should be, move the file away, and start again; the proxy takes Redis as it is then", path, err)
	}
	if old.Namespace != namespace || old.Proxy == "" {
		return state{}, fmt.Errorf("state file %s is of the namespace %q, not of %q: each needs its own file", path, old.Namespace, namespace)
	}
	if old.Floor >= backend.MaxToken {
		old.Floor, old.Earliest = 0, 0 // of a clock that was wrong, kept by a version that believed it
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
	if err == nil {
		return syncFolder(filepath.Dir(path))
	}
	return fmt.Errorf("state file: %w", errors.Join(err, os.Remove(file.Name())))
}

// syncFolder makes a new name durable.
func syncFolder(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("state file: %w", err)
	}
	return errors.Join(dir.Sync(), dir.Close())
}
