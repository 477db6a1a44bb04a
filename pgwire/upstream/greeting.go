package upstream

import (
	"errors"
	"io"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// Bounds of what an upstream says to a new connection: authentication, parameters, notices.
// PostgreSQL's takes less than a kilobyte; 100 MB of one parameter were read, and kept.
const (
	// maxGreetingBytes is for one connection, read and kept.
	maxGreetingBytes = 256 << 10
	// maxGreetings and maxGreetingsBytes bound what hostile start-up packets can make
	// a Server remember.
	maxGreetings      = 1000
	maxGreetingsBytes = 16 << 20
	// maxParameters is how many parameters an upstream may report of one session in all:
	// PostgreSQL 17 has 15.
	maxParameters = 1000
)

var errLongGreeting = errors.New("it says more than 256 KiB to a new connection, which is none of PostgreSQL's")

// Bounded is a copy of a configuration whose connections read no more than that before they are handed over.
func Bounded(cfg *pgconn.Config) *pgconn.Config {
	cfg = cfg.Copy()
	cfg.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		f := pgproto3.NewFrontend(&greetingReader{r, maxGreetingBytes}, w)
		f.SetMaxBodyLen(maxGreetingBytes)
		return f
	}
	return cfg
}

// greetingReader fails when what it may read is used up.
type greetingReader struct {
	r    io.Reader
	left int
}

func (g *greetingReader) Read(p []byte) (int, error) {
	if g.left == 0 {
		return 0, errLongGreeting
	}
	n, err := g.r.Read(p[:min(len(p), g.left)])
	g.left -= n
	return n, err
}

// size is about what a greeting takes.
func (g Greeting) size() int {
	const each = 100 // for maps and headers
	n := each
	for name, value := range g.Params {
		n += each + len(name) + len(value)
	}
	for _, notice := range g.Notices {
		n += each + len(notice.Message) + len(notice.Detail) + len(notice.Hint)
	}
	return n
}
