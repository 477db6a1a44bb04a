package drive

// Verdict is what Step cannot do itself.
type Verdict int

// Verdicts that every Machine knows. Its own begin with Own.
const (
	NeedInput Verdict = iota // all frames that are there were answered
	NeedRoom                 // many answers wait to be written
	Finished                 // the session is over
	Own
)

// Reason is why a client that was waited for is not any more.
type Reason int

// The reasons.
const (
	Lost     Reason = iota // the Source has gone
	Stopping               // the server ends
	Idle                   // it has been silent for too long
)

// Machine is a session as it is driven. Its methods are called by the owner of the Client only: a goroutine, or the loop
// that it is parked with.
type Machine interface {
	// Step answers the frames that are there. It does no I/O and waits for nothing.
	Step() Verdict
	// Serve does what an Own verdict asks for, which may wait, and goes on with Step. If it says false the
	// session is over.
	Serve(v Verdict) (next Verdict, goOn bool)
	// Finish ends a session whose verdict was Finished.
	Finish()
	// Tell tells the client why the session ends.
	Tell(why Reason)
	// Crashed ends a session that has panicked.
	Crashed(cause any, stack []byte)
	// End gives back everything that the session holds. Nothing is called after it.
	End()
	// MostWaiting is how many bytes of answers may wait to be written.
	MostWaiting() int
	// Leaving says that these answers, the first of which stands at a position, are about to be written.
	Leaving(answers []byte, from int64)
	// Source is the connection that answers the same client.
	Source() Source
}

// Source is a second connection, whose answers go to the same client by themselves.
type Source interface {
	// Unsent is how many bytes wait to be written to it; Flush writes them, TryFlush as far as it need not
	// wait: if it says false, a goroutine has to do the rest.
	Unsent() int
	Flush() error
	TryFlush() bool
	// WriteToClient writes to the client between two frames of the source's. TryWriteToClient writes what can
	// be written without waiting; not ok: the rest has to wait.
	WriteToClient(b []byte) error
	TryWriteToClient(b []byte) (n int, ok bool)
	// MayPark says whether an event loop can serve the session while it waits for its client.
	MayPark() bool
	// Lend and TakeBack enclose a turn of the loop: a buffer of the loop's is lent.
	Lend(buf []byte)
	TakeBack(own func([]byte) []byte)
	// IsLost says that it has gone.
	IsLost() bool
}

// Other is what a session waits for besides its client, as other goroutines reach it.
type Other interface {
	// RequestCancel asks for the end of what is under way, Abandon gives all of it up.
	RequestCancel()
	Abandon()
}
