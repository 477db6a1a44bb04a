package upstream

import (
	"strings"
	"testing"
)

// run applies steps: ">Q" is a message of the client's that is sent, "<C INSERT 0 1" an answer, "own>" opens a
// pipeline for messages of the proxy's, "own<Z I" is an answer to one, "own!" an error in it, "own." its end.
func run(l *Ledger, steps string) {
	for step := range strings.SplitSeq(steps, "|") {
		step = strings.TrimSpace(step)
		switch {
		case step == "":
		case step == "own>":
			l.Open()
		case step == "own!":
			l.Fail()
		case step == "own.":
			l.Close()
		case strings.HasPrefix(step, "own<"):
			l.ReceivedOwn(step[4], bodyOf(step[4:]))
		case step[0] == '>':
			for _, kind := range []byte(step[1:]) {
				l.Sent(kind)
			}
		default:
			l.Received(step[1], bodyOf(step[1:]))
		}
	}
}

// bodyOf is the body of an answer: its status, or its tag.
func bodyOf(step string) []byte {
	_, text, ok := strings.Cut(step, " ")
	switch {
	case !ok:
		return nil
	case step[0] == 'Z':
		return []byte(text)
	}
	return append([]byte(text), 0)
}

// state tells what a ledger says, in words.
func state(l *Ledger) string {
	var words []string
	settled, failed := l.Settled()
	for _, word := range []struct {
		is   bool
		name string
	}{
		{settled, "settled"}, {failed, "failed"}, {l.IsOpen(), "open"}, {l.OwesReady(), "owes-ready"}, {l.Copying(), "copying"},
	} {
		if word.is {
			words = append(words, word.name)
		}
	}
	words = append(words, [...]string{"none", "implicit", "explicit", "failed-block"}[l.Transaction()])
	return strings.Join(words, " ")
}

// The flows of the protocol's chapter, and what clients make of them.
func TestLedger(t *testing.T) {
	for _, c := range []struct{ name, steps, want string }{
		{"nothing was sent", "", "settled none"},
		{"a query that is not answered", ">Q", "owes-ready none"},
		{"a query of two statements, one of which is answered", ">Q|<T|<C SELECT 1", "owes-ready none"},
		{"a query that is answered", ">Q|<T|<C SELECT 1|<C UPDATE 1|<Z I", "settled none"},
		{"an empty query", ">Q|<I|<Z I", "settled none"},
		{"a query that fails", ">Q|<E|<Z I", "settled none"},
		{"a query that begins a block", ">Q|<C BEGIN|<Z T", "settled explicit"},
		{"a block that fails", ">Q|<C BEGIN|<Z T|>Q|<E|<Z E", "settled failed-block"},
		{"a block that ends", ">QQ|<C BEGIN|<Z T|<C COMMIT|<Z I", "settled none"},
		{"two queries at once", ">QQ|<C|<Z I", "owes-ready none"},
		{"a pipeline without its Sync", ">PBE", "open implicit"},
		{"a pipeline that is answered up to its Sync", ">PBDE|<1|<2|<n|<C", "settled open implicit"},
		{"a Describe of a statement has two answers, one of which ends it", ">D|<t", "open implicit"},
		{"a Describe that is answered", ">D|<t|<T", "settled open implicit"},
		{"a portal that is suspended", ">E|<s", "settled open implicit"},
		{"a pipeline with its Sync", ">PBES|<1|<2|<C", "owes-ready none"},
		{"a pipeline to its end", ">PBES|<1|<2|<C|<Z I", "settled none"},
		{"a Sync alone", ">S|<Z I", "settled none"},
		{"a pipeline that fails before its Sync is sent", ">PBE|<1|<E", "settled failed open implicit"},
		{"what follows is dropped", ">PBE|<E|>BE", "settled failed open implicit"},
		{"up to its Sync", ">PBE|<E|>BES", "owes-ready none"},
		{"which is answered", ">PBE|<E|>BES|<Z I", "settled none"},
		{"a query that ends a pipeline", ">PBEQ|<1|<2|<C|<C|<Z I", "settled none"},
		{"a query that is dropped with a pipeline", ">PBEQ|<E", "settled failed open implicit"},
		{"and was followed by a Sync", ">PBEQS|<E", "owes-ready none"},
		{"two pipelines, the first of which fails", ">PBESPBES|<E|<Z I|<1|<2|<C", "owes-ready none"},
		{"both answered", ">PBESPBES|<E|<Z I|<1|<2|<C|<Z I", "settled none"},
		{"a function call", ">F|<V|<Z I", "settled none"},
		{"a COPY that waits for data", ">Q|<G", "owes-ready copying none"},
		{"its data", ">Q|<G|>dd", "owes-ready copying none"},
		{"the end of its data", ">Q|<G|>ddc", "owes-ready none"},
		{"a COPY that is done", ">Q|<G|>ddc|<C COPY 2|<Z I", "settled none"},
		{"a COPY that the client fails", ">Q|<G|>f|<E|<Z I", "settled none"},
		{"a COPY that fails by its data", ">Q|<G|>d|<E", "owes-ready none"},
		{"data that comes before it is asked for", ">Qdc|<G", "owes-ready none"},
		{"the end of data for no COPY", ">c", "settled none"},
		{"a COPY of a pipeline", ">PBE|<1|<2|<G", "open copying implicit"},
		{"a Sync too early, which is ignored there", ">PBES|<1|<2|<G", "open copying implicit"},
		{"and the data, and a Sync", ">PBES|<1|<2|<G|>dcS", "owes-ready none"},
		{"all at once", ">PBESdcS|<1|<2|<G", "owes-ready none"},
		{"the end of data after a Sync too early", ">PBESdc", "open owes-ready implicit"},
		{"done", ">PBESdcS|<1|<2|<G|<C COPY 1|<Z I", "settled none"},
		{"a Sync amid data", ">Q|<G|>S", "owes-ready copying none"},
		{"a COMMIT in a pipeline: what is there now is not known", ">Q|<C BEGIN|<Z T|>PBE|<1|<2|<C COMMIT", "settled open implicit"},
		{"messages of the proxy's", "own>", "settled open implicit"},
		{"which fail", "own>|own!", "settled failed open implicit"},
		{"in a pipeline of the client's", ">PB|<1|<2|own>|own!", "settled failed open implicit"},
		{"and end", "own>|own<Z T|own.", "settled explicit"},
		{"a COPY of the proxy's", "own>|own<G", "settled open copying implicit"},
		{"which fails", "own>|own<G|own<E", "settled open implicit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := NewLedger('I')
			run(&l, c.steps)
			if got := state(&l); got != c.want {
				t.Errorf("%s: %q, want %q", c.steps, got, c.want)
			}
		})
	}
}

func TestLedgersMarks(t *testing.T) {
	for _, c := range []struct {
		name, steps string
		want        Marks
	}{
		{"nothing", "", Marks{}},
		{"each statement alone is a transaction", ">QQ|<C|<Z I|<C|<Z I", Marks{Ended: 2}},
		{"statements of a block are not", ">QQ|<C BEGIN|<Z T|<C|<Z T", Marks{}},
		{"a block", ">QQ|<C BEGIN|<Z T|<C COMMIT|<Z I", Marks{Ended: 2}}, // by its tag and by the status
		{"ROLLBACK without savepoints", ">QQ|<C BEGIN|<Z T|<C ROLLBACK|<Z I", Marks{Ended: 2}},
		{"ROLLBACK that may be to a savepoint", ">Q|<C BEGIN|<C SAVEPOINT|<C ROLLBACK|<Z T", Marks{WentBack: 1}},
		{"ROLLBACK AND CHAIN", ">Q|<C BEGIN|<C ROLLBACK|<Z T", Marks{Ended: 1}},
		{"a procedure may commit", ">Q|<C CALL|<Z I", Marks{WentBack: 1, Ended: 1}},
		{"but not in a block", ">QQ|<C BEGIN|<Z T|<C DO|<Z T", Marks{}},
		{"a statement with a name is dropped", ">QQ|<C PREPARE|<Z I|<C DISCARD ALL", Marks{Ended: 1, Dropped: 1}},
		{"all statements dropped", ">Q|<C DISCARD ALL|<Z T", Marks{Dropped: 1}},
		{"by the proxy", "own>|own<C DEALLOCATE ALL", Marks{Dropped: 1}},
		{"a statement with a name", ">Q|<C PREPARE|<Z T", Marks{Named: true}},
		{"a cursor", ">Q|<C DECLARE CURSOR|<Z T", Marks{Portals: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := NewLedger('I')
			run(&l, c.steps)
			if got := l.Marks(); got != c.want {
				t.Errorf("%s: %+v, want %+v", c.steps, got, c.want)
			}
		})
	}
}

// server answers as a PostgreSQL does: it is the other side of a ledger.
type server struct {
	out      []string // answers that are not delivered
	status   byte
	skipping bool // up to a Sync
	copying  byte // the data of a COPY of 'Q' or 'E' is waited for; 0: of none
	readies  int  // that it will have sent
	told     byte // the status in the last of them
}

func (s *server) say(answers ...string) { s.out = append(s.out, answers...) }

func (s *server) ready() {
	s.readies++
	s.told = s.status
	s.say("Z " + string(s.status))
}

func (s *server) fail() {
	s.say("E")
	if s.status == 'T' {
		s.status = 'E'
	}
}

// take takes a message; outcome chooses among what may come of it.
func (s *server) take(kind, outcome byte) {
	if s.copying != 0 {
		s.data(kind, outcome)
		return
	}
	switch {
	case kind == 'S':
		s.skipping = false
		s.ready()
		return
	case s.skipping || strings.IndexByte("dcfH", kind) >= 0:
		return
	case kind == 'Q':
		s.query(outcome)
		return
	case outcome%5 == 4:
		s.fail()
		s.skipping = true
		return
	}
	switch kind {
	case 'P':
		s.say("1")
	case 'B':
		s.say("2")
	case 'C':
		s.say("3")
	case 'D':
		s.say([][]string{{"n"}, {"T"}, {"t", "n"}, {"t", "T"}}[outcome%4]...)
	case 'E':
		switch outcome % 4 {
		case 0:
			s.say("C SELECT 1")
		case 1:
			s.say("s")
		case 2:
			s.say("I")
		case 3:
			s.say("G")
			s.copying = 'E'
		}
	}
}

func (s *server) query(outcome byte) {
	switch outcome % 6 {
	case 0:
		s.say("C SELECT 1", "C UPDATE 2")
	case 1:
		s.say("I")
	case 2:
		s.say("C SELECT 1")
		s.fail()
	case 3:
		s.status = 'T'
		s.say("C BEGIN")
	case 4:
		s.status = 'I'
		s.say("C COMMIT")
	case 5:
		s.say("G")
		s.copying = 'Q'
		return
	}
	s.ready()
}

// data takes a message while the data of a COPY is waited for.
func (s *server) data(kind, outcome byte) {
	of := s.copying
	switch {
	case strings.IndexByte("dSH", kind) >= 0 && outcome%5 != 4:
		return
	case kind == 'S' || kind == 'H':
		return
	case kind == 'c' && outcome%5 != 4:
		s.say("C COPY 1")
	default: // it fails by its data, by the client, or by a message that is none of a COPY
		s.fail()
		s.skipping = of == 'E'
	}
	s.copying = 0
	if of == 'Q' {
		s.ready()
	}
}

// client sends what a client may: while data may be waited for it sends data and its end. A Sync amid data is
// ignored there, unless the data before it was wrong: nobody but the server can tell then whether it counts, so
// such a client sends one of the two.
type client struct {
	mayCopy, early, spoiled bool
}

func (c *client) next(choice, outcome byte) (kind, may byte) {
	kinds := "PBDECSQ"
	if c.mayCopy {
		kinds = "dcfS"
	}
	kind = kinds[int(choice)%len(kinds)]
	switch kind {
	case 'E', 'Q':
		c.mayCopy = true
	case 'c', 'f':
		*c = client{}
	case 'd':
		if c.early {
			outcome = 0
		}
		c.spoiled = c.spoiled || outcome%5 == 4
	case 'S':
		if c.spoiled {
			return 'd', outcome
		}
		c.early = c.mayCopy
	}
	return kind, outcome
}

// FuzzLedger has a client and a server talk in any order, and wants the ledger to know what is owed: never less
// than nothing, and one ReadyForQuery for each that the server sends.
func FuzzLedger(f *testing.F) {
	f.Add([]byte("\x00\x00\x01\x00\x03\x00\xff\xff\xff"))
	f.Add([]byte{0, 0, 1, 0, 3, 3, 255, 255, 0, 0, 1, 0, 6, 0, 255, 255, 255})
	f.Add([]byte{7, 5, 255, 0, 0, 1, 0, 255, 255, 7, 3, 1, 0, 255, 255})
	f.Fuzz(func(t *testing.T, script []byte) {
		l, s, c := NewLedger('I'), &server{status: 'I', told: 'I'}, &client{}
		seen := 0
		var trace []string
		defer func() {
			if t.Failed() {
				t.Log(strings.Join(trace, " | "))
			}
		}()
		deliver := func() {
			answer := s.out[0]
			trace = append(trace, "<"+answer)
			s.out = s.out[1:]
			owed := l.OwesReady()
			l.Received(answer[0], bodyOf(answer))
			if answer[0] == 'Z' {
				seen++
				if !owed {
					t.Fatal("ReadyForQuery, and the ledger knew of nothing that it ends")
				}
			}
		}
		for len(script) >= 2 {
			if script[0] == 255 && len(s.out) > 0 {
				deliver()
				script = script[1:]
				continue
			}
			kind, outcome := c.next(script[0], script[1])
			trace = append(trace, ">"+string(kind))
			l.Sent(kind)
			s.take(kind, outcome)
			script = script[2:]
			check(t, &l)
		}
		for len(s.out) > 0 {
			deliver()
			check(t, &l)
		}
		if seen != s.readies {
			t.Fatalf("%d times ReadyForQuery, want %d", seen, s.readies)
		}
		if l.OwesReady() && s.copying == 0 {
			t.Fatalf("the server has answered everything, and the ledger waits for ReadyForQuery: %+v", l)
		}
		if settled, _ := l.Settled(); !settled && s.copying == 0 {
			t.Fatalf("the server has answered everything, and the ledger waits: %+v", l)
		}
		if l.Status() != s.lastStatus() {
			t.Fatalf("status %c, want %c", l.Status(), s.lastStatus())
		}
	})
}

// lastStatus is what the last ReadyForQuery told, if the server is not amid something.
func (s *server) lastStatus() byte { return s.told }

func check(t *testing.T, l *Ledger) {
	t.Helper()
	switch n := len(l.pending); {
	case l.failed && !l.isOpen:
		t.Fatalf("a pipeline has failed that is not open: %+v", l)
	case l.failed && n > 0 && !isEnd(l.pending[n-1]):
		t.Fatalf("answers are owed of a pipeline that has failed: %+v", l)
	case l.isOpen && n > 0 && isEnd(l.pending[n-1]) && !l.failed && l.copying:
		t.Fatalf("data is waited for by a pipeline that was sent to its end: %+v", l)
	}
}
