package moving

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Format is the version of the file that this program writes. It reads the first one too, which has
// no holders and no capacities.
const (
	Format      = 2
	firstFormat = 1
)

// ErrFile means that a file is none that an export has written, or not all of it. Compare with errors.Is.
var ErrFile = errors.New("not a whole export")

// A Writer writes a file under a temporary name. It is not safe for concurrent use.
type Writer struct {
	Header Header

	path   string
	file   *os.File
	buffer *bufio.Writer
	sum    hash.Hash
	totals Totals
}

// Create begins a file, readable for its owner only. It fails if path exists: nothing is ever
// overwritten. The Writer has to be Published or Discarded.
func Create(path, source string) (*Writer, error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s exists already: name a new file", path)
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".")
	if err != nil {
		return nil, err
	}
	w := &Writer{
		Header: Header{Format: Format, ID: rand.Text(), Source: source, Time: time.Now().UTC().Truncate(time.Second)},
		path:   path, file: file, buffer: bufio.NewWriterSize(file, 1<<16), sum: sha256.New(),
	}
	if err := w.write(w.Header); err != nil {
		w.Discard()
		return nil, err
	}
	return w, nil
}

// Path is where the file will be.
func (w *Writer) Path() string { return w.path }

// Write adds a record.
func (w *Writer) Write(r Record) error {
	var err error
	if r.Pool != nil {
		w.totals.Pools++
		err = r.Pool.check()
	} else {
		w.totals.Leases++
		w.totals.GreatestToken = max(w.totals.GreatestToken, r.Lease.Token)
		err = r.Lease.check()
	}
	if err != nil {
		return err
	}
	return w.write(lineOf(r))
}

func (w *Writer) write(value any) error {
	line, err := json.Marshal(value)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	w.sum.Write(line) // never fails
	_, err = w.buffer.Write(line)
	return err
}

// Finish writes the last line and waits until all is on disk. greatest is the greatest token that
// anybody may have been told. The file has its temporary name still.
func (w *Writer) Finish(greatest int64) (Totals, error) {
	w.totals.GreatestToken = max(w.totals.GreatestToken, greatest)
	err := w.write(w.totals.signed(w.sum))
	return w.totals, errors.Join(err, w.buffer.Flush(), w.file.Sync())
}

// signed is the last line, after all that sum is of. The sum in it is of the rest of the line too.
func (t Totals) signed(sum hash.Hash) lastLine {
	fmt.Fprintf(sum, "%d %d %d", t.Pools, t.Leases, t.GreatestToken) // never fails
	return lastLine{Totals: t, SHA256: hex.EncodeToString(sum.Sum(nil))}
}

// Publish gives a finished file its name, and waits until that is on disk.
func (w *Writer) Publish() error {
	if err := errors.Join(w.file.Close(), os.Rename(w.file.Name(), w.path)); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(w.path))
}

// Discard removes what was not published. It does nothing after Publish.
func (w *Writer) Discard() {
	_ = w.file.Close()
	_ = os.Remove(w.file.Name()) // it may have another name by now
}

func syncFolder(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// A File is an export that was found to be whole. It is not safe for concurrent use.
type File struct {
	Header Header
	Totals Totals

	file *os.File
	sum  string
}

// Open reads a file from its beginning to its end, and fails with ErrFile unless it is whole and as it was
// written. The File has to be closed.
func Open(path string) (*File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	f := &File{file: file}
	if err := f.read(func(Record) error { return nil }); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
	}
	return f, nil
}

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

// Each calls use with every record in turn. It fails with ErrFile if the file is not what it was when
// it was opened; then what use was given counts for nothing.
func (f *File) Each(use func(Record) error) error {
	before := *f
	if err := f.read(use); err != nil {
		return err
	}
	if f.sum != before.sum {
		return fmt.Errorf("%w: it was changed while it was read", ErrFile)
	}
	return nil
}

// read reads the file, and sets what its first and its last line say.
func (f *File) read(use func(Record) error) error {
	if _, err := f.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	r := reader{lines: bufio.NewReaderSize(f.file, 1<<16), sum: sha256.New()}
	first, err := r.next()
	if err != nil {
		return err
	}
	if err := decode(first, &f.Header); err != nil || f.Header.ID == "" {
		return fmt.Errorf("%w: its first line is not that of one", ErrFile)
	}
	if f.Header.Format != Format && f.Header.Format != firstFormat {
		return fmt.Errorf("%w: it has the format %d, and this version of the program reads those up to %d", ErrFile, f.Header.Format, Format)
	}
	var seen Totals
	for number := 2; ; number++ {
		text, err := r.next()
		if err != nil {
			return err
		}
		if isLast(text) {
			return f.end(&r, text, seen)
		}
		var l line
		if err := decode(text, &l); err != nil {
			return fmt.Errorf("%w: line %d: %w", ErrFile, number, errLine)
		}
		record, err := l.record()
		if err != nil {
			return fmt.Errorf("%w: line %d: %w", ErrFile, number, err)
		}
		if record.Pool != nil {
			seen.Pools++
		} else {
			seen.Leases++
			seen.GreatestToken = max(seen.GreatestToken, record.Lease.Token)
		}
		if err := use(record); err != nil {
			return err
		}
	}
}

// end compares the last line with what came before it.
func (f *File) end(r *reader, text []byte, seen Totals) error {
	var last lastLine
	if err := decode(text, &last); err != nil {
		return fmt.Errorf("%w: its last line is not that of one", ErrFile)
	}
	want, err := json.Marshal(last.signed(r.sum))
	if err != nil {
		return err
	}
	if _, err := r.lines.ReadByte(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: something follows its last line", ErrFile)
	}
	switch {
	case !bytes.Equal(text, want), last.Pools != seen.Pools, last.Leases != seen.Leases, last.GreatestToken < seen.GreatestToken:
		return fmt.Errorf("%w: it was changed: what its last line says is not what is in it", ErrFile)
	}
	f.Totals, f.sum = last.Totals, last.SHA256
	return nil
}

// reader reads lines. sum is of all but the last one.
type reader struct {
	lines *bufio.Reader
	sum   hash.Hash
}

func isLast(line []byte) bool { return bytes.HasPrefix(line, []byte(`{"pools":`)) }

// next gives a line without its end.
func (r *reader) next() ([]byte, error) {
	text, err := r.lines.ReadBytes('\n')
	switch {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%w: it is cut off: its last line is missing", ErrFile)
	case err != nil:
		return nil, err
	}
	if !isLast(text) {
		r.sum.Write(text) // never fails
	}
	return bytes.TrimSuffix(text, []byte("\n")), nil
}

// decode reads a line, of which nothing may be left over or unknown.
func decode(text []byte, value any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(value); err != nil {
		return err
	}
	if d.InputOffset() != int64(len(text)) {
		return errLine
	}
	return nil
}
