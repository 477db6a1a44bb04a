package inprocess

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// sealFile says that the folder's store must not be opened: what is in it is in another
// store too, or is not all there yet.
const (
	sealFile    = "SEAL"
	newSealFile = sealFile + ".new"
)

// ErrSealed means that the store was exported, or an import into it was not finished.
var ErrSealed = errors.New("the lock store is sealed")

// States of a seal.
const (
	exporting = "exporting" // the file may be there, under a temporary name
	exported  = "exported"
	importing = "importing"
)

// A seal is what sealFile says.
type seal struct {
	State string    `json:"state"`
	ID    string    `json:"export"` // of the file
	File  string    `json:"file"`
	Time  time.Time `json:"time"`
}

// readSeal gives the seal of a folder; nil: there is none.
func (f *folder) readSeal() (*seal, error) {
	text, err := f.read(sealFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // that there is none is an answer
	}
	if err != nil {
		return nil, err
	}
	var s seal
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return nil, fmt.Errorf("%w: its file %s cannot be read: %w", ErrSealed, sealFile, err)
	}
	return &s, nil
}

// seal makes the folder one that cannot be opened, durably. An older seal is replaced.
func (f *folder) seal(state, id, file string) error {
	text, err := json.Marshal(seal{State: state, ID: id, File: file, Time: time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return err
	}
	if err := f.write(newSealFile, string(text)+"\n"); err != nil {
		return err
	}
	if err := f.fs.Rename(f.fs.PathJoin(f.path, newSealFile), f.fs.PathJoin(f.path, sealFile)); err != nil {
		return err
	}
	return syncFolder(f.fs, f.path)
}

// unseal lets the folder be opened again.
func (f *folder) unseal() error {
	if err := f.fs.Remove(f.fs.PathJoin(f.path, sealFile)); err != nil {
		return err
	}
	return syncFolder(f.fs, f.path)
}

// whySealed says why the store must not be opened, and what to do; nil: it may.
func (f *folder) whySealed() error {
	s, err := f.readSeal()
	if s == nil {
		return err
	}
	return s.refusal(f.path)
}

func (s *seal) refusal(path string) error {
	when := s.Time.Format(time.RFC3339)
	if s.State == importing {
		return fmt.Errorf("%w: the import of %s into %s, begun at %s, was not finished: run `raisinproxy import` of that file again", ErrSealed, s.File, path, when)
	}
	return fmt.Errorf("%w: what is in %s was exported to %s at %s, so another store may have it now: if that file was imported nowhere, "+
		"`raisinproxy reopen` of it lets this store go on", ErrSealed, path, s.File, when)
}

// Reopen takes the seal of an export off a store: it goes on as it was. id is that of the exported file, which
// voided makes one that cannot be imported, before; "" if the file is lost. It fails with ErrInUse, with
// ErrSealed if an import was not finished or the file is another one, and if there is no seal.
func Reopen(dir, id string, voided func() error) error { return reopen(vfs.Default, dir, id, voided) }

func reopen(disk vfs.FS, dir, id string, voided func() error) (err error) {
	if _, err := disk.Stat(dir); err != nil {
		return err
	}
	home, err := lockFolder(disk, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, home.unlock()) }()
	s, err := home.readSeal()
	switch {
	case err != nil:
		return err
	case s == nil:
		return fmt.Errorf("the store in %s was not exported: there is nothing to reopen", dir)
	case s.State == importing:
		return s.refusal(dir)
	case id != "" && id != s.ID:
		return fmt.Errorf("%w: %s was exported to another file, %s", ErrSealed, dir, s.File)
	}
	if err := voided(); err != nil {
		return err
	}
	return home.unseal()
}
