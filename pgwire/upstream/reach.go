package upstream

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// reach is whether the upstream lets the proxy in, as last seen. What changes is logged:
// an outage once, and not with each session that it costs. It is safe for concurrent use;
// the zero value is ready, and logs nothing.
type reach struct {
	log *slog.Logger

	mu      sync.Mutex
	trouble string // "": none
}

// LogTo has changes logged whether the upstream can be reached.
func (u *Server) LogTo(log *slog.Logger) { u.reach.log = log }

// note takes the end of an attempt to connect. Refusals of a user count if it is the
// proxy's own user.
func (r *reach) note(ctx context.Context, err error, ownUser bool) {
	if r.log == nil || ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return // it was the client that ended it
	}
	trouble := troubleOf(err, ownUser)
	if r.told(trouble) == trouble {
		return
	}
	if trouble == "" {
		r.log.Info("the upstream can be reached again")
		return
	}
	r.log.Error("the upstream cannot be reached", "cause", trouble)
}

// told notes what the log has been told, and gives what it was told before.
func (r *reach) told(trouble string) (before string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, r.trouble = r.trouble, trouble
	return before
}

// troubleOf says what keeps sessions from the upstream; "" for nothing, or for what is the
// matter of one client, such as a database that does not exist.
func troubleOf(err error, ownUser bool) string {
	if err == nil {
		return ""
	}
	told, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || told.Code == "57P03" || told.Code == "53300" || ownUser && strings.HasPrefix(told.Code, "28") {
		return Explain(err)
	}
	return ""
}

// rootCause is why a connection failed, without the names and addresses of the
// configuration, which are nobody's business.
func rootCause(err error) string {
	if errors.Is(err, errLongGreeting) || errors.As(err, new(*pgproto3.ExceededMaxBodyLenErr)) {
		return errLongGreeting.Error()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "it did not answer in time"
	}
	if found, ok := errors.AsType[*net.DNSError](err); ok {
		return found.Err
	}
	for inner := innerOf(err); inner != nil; inner = innerOf(err) {
		err = inner
	}
	return err.Error()
}

// innerOf is what an error wraps, the last if there are several; nil: nothing.
func innerOf(err error) error {
	switch wrapped := err.(type) { //nolint:errorlint // it is the wrapping that is looked at
	case interface{ Unwrap() error }:
		return wrapped.Unwrap()
	case interface{ Unwrap() []error }:
		if all := wrapped.Unwrap(); len(all) > 0 {
			return all[len(all)-1]
		}
	}
	return nil
}
