package redis

import (
	"cmp"
	"context"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

const (
	// pollEvery is how often a proxy asks for a lock that its calls wait for. An offer lasts longer, and so does
	// what it says of itself in the line: see lua/queue.lua.
	pollEvery = time.Second
	// pollSpread is by how much that is shortened at random.
	pollSpread = 100 * time.Millisecond
)

// lines are the locks that calls of this proxy wait for. They are safe for concurrent use.
type lines struct {
	mu    sync.Mutex
	of    map[string]*line // by key in Redis
	turns uint64           // how many there ever were
}

// A line is what a proxy knows of the line for one lock: its own calls in it. A goroutine polls Redis while
// any of them waits.
type line struct {
	key   string
	over  chan struct{} // closed when nobody waits any more
	moved chan struct{} // due is earlier than it was

	// lines.mu guards what follows.
	turns    map[string]*turn // by their tickets
	attended bool
	polls    uint64
	due      time.Time // of the next poll
}

// join begins to know a call, before it asks: it may be told of an offer before its answer arrives.
func (ls *lines) join(t *turn) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.of[t.call.key]
	if l == nil {
		l = &line{key: t.call.key, over: make(chan struct{}), moved: make(chan struct{}, 1), turns: make(map[string]*turn), polls: 1, due: time.Now().Add(pollEvery)}
		if ls.of == nil {
			ls.of = make(map[string]*line)
		}
		ls.of[l.key] = l
	}
	ls.turns++
	t.line, t.place, t.asking = l, ls.turns, true
	l.turns[t.call.nonce] = t
}

func (ls *lines) leave(t *turn) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	close(t.left)
	delete(t.line.turns, t.call.nonce)
	if len(t.line.turns) == 0 {
		delete(ls.of, t.line.key)
		close(t.line.over)
	}
}

// asks notes that nothing is known of a call until it is answered.
func (ls *lines) asks(t *turn) {
	epoch := t.store.watch.epoch.Load()
	ls.mu.Lock()
	defer ls.mu.Unlock()
	t.asking, t.known, t.epoch = true, 0, epoch
}

// stands notes that a call is in line, and that there may be something new in so long.
func (ls *lines) stands(t *turn, news time.Duration) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	t.asking, t.known = false, t.line.polls
	t.line.pollIn(news)
}

func (ls *lines) failed(t *turn) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	t.asking = false
}

// isKnown tells whether a call was told that it is in line, or has the lock, when it asked last.
func (ls *lines) isKnown(t *turn) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return t.known > 0
}

// granted has the others in line look when the new lease ends.
func (ls *lines) granted(t *turn, r reply) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	t.known = math.MaxUint64
	t.line.pollIn(time.Duration(r.int(1))*time.Millisecond - time.Duration(r.micros)*time.Microsecond)
}

// pollIn has the next poll be made shortly after so long, or when it is due anyway. lines.mu is held.
func (l *line) pollIn(d time.Duration) {
	at := time.Now().Add(d + time.Millisecond)
	if !at.Before(l.due) {
		return
	}
	l.due = at
	select {
	case l.moved <- struct{}{}:
	default:
	}
}

// pollAll has all lines polled now.
func (ls *lines) pollAll() {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, l := range ls.of {
		l.pollIn(0)
	}
}

// offered tells a call that the lock is offered to it. It reports false if there is no such call.
func (ls *lines) offered(key, ticket string) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.of[key]
	if l == nil || l.turns[ticket] == nil {
		return false
	}
	l.turns[ticket].tell(notice{})
	return true
}

// tell has a call ask again, unless it is going to. It reports whether the notice is going to be taken.
func (t *turn) tell(n notice) bool {
	select {
	case t.told <- n:
		return true
	default:
		return false
	}
}

// waiting is how many calls of this proxy wait.
func (ls *lines) waiting() (n int64) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, l := range ls.of {
		n += int64(len(l.turns))
	}
	return n
}

// attend polls a line from when the first call waits in it.
func (s *Store) attend(l *line) {
	s.lines.mu.Lock()
	defer s.lines.mu.Unlock()
	if !l.attended {
		l.attended = true
		s.work.Go(func() { s.pollUntilOver(l) })
	}
}

// pollUntilOver polls a line until nobody is in it or the store is closed.
func (s *Store) pollUntilOver(l *line) {
	timer := time.NewTimer(s.lines.untilDue(l))
	defer timer.Stop()
	for {
		select {
		case <-l.over:
			return
		case <-s.stop:
			return
		case <-l.moved:
		case <-timer.C:
			s.poll(l)
		}
		timer.Reset(s.lines.untilDue(l))
	}
}

func (ls *lines) untilDue(l *line) time.Duration {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return max(time.Until(l.due), 0)
}

// poll says that the calls of a line wait still, has those ask for the lock that it is offered to, and puts those in line
// again that are not in it any more: Redis has lost them, or it has taken this proxy for dead.
func (s *Store) poll(l *line) {
	number := s.lines.polls(l)
	epoch := s.watch.epoch.Load()
	r, err := s.askForNews(l.key)
	if err != nil {
		return // the next poll is due in a second
	}
	switch r.word {
	case "LEASE", "WAIT", "OFFER":
		s.lines.pollIn(l, time.Duration(r.int(0))*time.Millisecond)
	default: // each call is told what is the matter
		s.askAgain(s.lines.all(l))
		return
	}
	if ticket := r.at(2); r.word == "OFFER" && !s.lines.offered(l.key, ticket) {
		s.work.Go(func() { s.refuseOffer(context.Background(), l.key, ticket) })
	}
	s.askAgain(s.lines.lost(l, number, epoch, r.int(1)))
}

// polls counts a poll that is made now, and says when the next one is due.
func (ls *lines) polls(l *line) uint64 {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l.polls++
	l.due = time.Now().Add(pollEvery - rand.N(pollSpread)) //nolint:gosec // spreads polls
	return l.polls
}

func (ls *lines) pollIn(l *line, d time.Duration) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l.pollIn(d)
}

func (s *Store) askForNews(key string) (reply, error) {
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.attemptTime())
	defer cancel()
	c := &call{key: key, nonce: s.nonce()}
	return s.repeat(ctx, c, func(s *Store, _ string) (*request, error) {
		c.notAfter = s.clock.now() + s.opts.sendingTime().Microseconds()
		return &request{script: pollScript, key: key, args: c.head(milliseconds(s.watch.longest()), s.watch.offersFrom())}, nil
	})
}

// lost are the calls that may not be in line any more, in the order in which they came. They are all of those that wait if
// Redis has fewer than there were when it was polled, and those that were put in line before Redis was judged anew. None
// is among them that came after one that is asking now, so that it does not get ahead of that.
func (ls *lines) lost(l *line, poll, epoch uint64, tickets int64) []*turn {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	known, doubtful := int64(0), false
	for _, t := range l.turns {
		if t.known > 0 && t.known < poll {
			known++
		}
		doubtful = doubtful || !t.asking && (t.known == 0 || t.epoch != epoch)
	}
	if tickets >= known && !doubtful {
		return nil
	}
	var lost []*turn
	for _, t := range inOrder(l.turns) {
		if t.asking {
			break
		}
		if tickets < known || t.known == 0 || t.epoch != epoch {
			lost = append(lost, t)
		}
	}
	return lost
}

func (ls *lines) all(l *line) []*turn {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return inOrder(l.turns)
}

func inOrder(turns map[string]*turn) []*turn {
	return slices.SortedFunc(maps.Values(turns), func(a, b *turn) int { return cmp.Compare(a.place, b.place) })
}

// askAgain has calls ask again, one after the other, so that they keep their order: if one is not answered, none behind
// it asks. What it does not get to in the time of a poll the next one finds.
func (s *Store) askAgain(turns []*turn) {
	if len(turns) == 0 {
		return
	}
	end := time.NewTimer(pollEvery)
	defer end.Stop()
	for _, t := range turns {
		n := notice{done: make(chan struct{})}
		if !t.tell(n) {
			continue
		}
		select {
		case <-n.done:
			if !s.lines.isKnown(t) {
				return
			}
		case <-t.left:
		case <-s.stop:
			return
		case <-end.C:
			return
		}
	}
}

// refuseOffer is for a lock that is offered to a call which does not wait any more: the next in line shall have it. A call that
// has just got the lock keeps it.
func (s *Store) refuseOffer(ctx context.Context, key, ticket string) {
	if s.begin(ctx) != nil {
		return
	}
	defer s.work.Done()
	ctx, cancel := context.WithTimeout(ctx, s.opts.sendingTime())
	defer cancel()
	c := &call{key: key, nonce: ticket, notAfter: s.clock.now() + s.opts.sendingTime().Microseconds()}
	if r, err := s.askToSettle(ctx, c, false); err == nil && r.word == "NOTHING" {
		s.known.answer(key, ticket)
	}
}
