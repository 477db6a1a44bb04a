// Package poll is an event loop for connections that are idle most of the time.
//
// A Loop is one thread that waits for many connections (epoll, level-triggered) and calls
// back when one can be read or written. A connection needs neither a goroutine nor a
// buffer while it waits, and a short question is answered on the thread that noticed it:
// no goroutine has to be woken for it. What may take long is left to a goroutine: a Conn is a
// net.Conn as well.
//
// It is there on Linux. Elsewhere, and with the build tag goroutines, Start says
// errors.ErrUnsupported, and every connection is served by a goroutine of its own.
package poll
