package redis

import (
	"errors"
	"fmt"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"raisinproxy/backend"
)

// verdict is what an error of one attempt says about its request.
type verdict int

const (
	refused   verdict = iota // Redis answered that it did nothing, and will say so again
	notNow                   // Redis answered that it did nothing, and may do it soon
	elsewhere                // another node of the Cluster has the key
	noScript                 // EVALSHA needs to be EVAL
	unsent                   // nothing was written
	unknown                  // it was written, or may have been
	broken                   // its script failed in the middle
	stopped                  // no copy of the call may be sent now
)

// judge reads the error of an attempt. Only a reply of Redis or a connection that was
// never made says for certain that nothing was done.
func judge(err error) verdict {
	var reply goredis.Error
	var notSent *unsentError
	var notAllowed *stoppedError
	switch {
	case errors.As(err, &notAllowed):
		return stopped
	case errors.As(err, &notSent), errors.Is(err, goredis.ErrPoolTimeout), errors.Is(err, goredis.ErrClosed):
		return unsent
	case !errors.As(err, &reply) || errors.Is(err, goredis.Nil):
		return unknown
	}
	// An error that a script has not caught: what it wrote before stays. The scripts catch those of
	// their first read and their first write, so this is a right that Redis's user lacks, say.
	if strings.Contains(reply.Error(), "user_script") {
		return broken
	}
	switch word, _, _ := strings.Cut(reply.Error(), " "); word {
	case "NOSCRIPT":
		return noScript
	case "MOVED", "ASK":
		return elsewhere
	case "LOADING", "MASTERDOWN", "CLUSTERDOWN", "READONLY", "TRYAGAIN", "BUSY":
		return notNow
	}
	return refused
}

// refusal is what a caller is told of a reply that says that nothing was done.
func refusal(err error) error {
	if goredis.HasErrorPrefix(err, "OOM") {
		return fmt.Errorf("%w: %w", backend.ErrOutOfResources, err)
	}
	return fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
}

// unsentError is a connection that could not be made or used: nothing was written.
type unsentError struct{ err error }

func (e *unsentError) Error() string { return e.err.Error() }
func (e *unsentError) Unwrap() error { return e.err }

// handshakeError is an unsentError from within go-redis's handshake, which takes one wrapping
// off what it returns.
func handshakeError(err error) error { return &unsentError{&unsentError{err}} }
