package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"

	goredis "github.com/redis/go-redis/v9"

	"raisinproxy/backend"
)

// Store is a backend.Backend in Redis. It is safe for concurrent use.
type Store struct {
	opts    Options
	log     *slog.Logger
	servers *servers // for calls
	probe   *servers // for the heartbeat, which looks at servers before calls may
	lanes   lanes
	watch   *watch
	clock   serverClock
	known   known
	leases  *leaseCount // nil: they are not limited
	lines   lines
	lock    *stateLock
	listing chan struct{} // has room for the one listing that may run

	life  string // random: nonces of this Store begin with it
	calls atomic.Uint64

	listening sync.Once // for offers, from the first call on that waits

	work     sync.WaitGroup // goroutines that end by themselves: lanes and calls
	beats    sync.WaitGroup
	endBeats context.CancelFunc
	failing  bool          // of the heartbeat's goroutine
	warned   sync.Map      // which process had which configuration, that was warned of
	stop     chan struct{} // closed by Close
	mu       sync.RWMutex  // of closed: calls hold it shared while they begin
	closed   bool
	ended    chan struct{} // closed when Close is done
	err      error         // of Close
}

var _ backend.Backend = (*Store)(nil)

// Open connects to what o names. It fails if o or the state file is wrong, or Redis is too old, not if Redis does not
// answer: then calls fail with backend.ErrUnavailable until it does. ctx is for the
// first exchange with Redis. Close stops what Open started.
func Open(ctx context.Context, o Options) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	s := &Store{
		opts:  o,
		log:   o.Log,
		lanes: lanes{of: make(map[*goredis.Client]*lane)},
		life:  rand.Text()[:12],
		stop:  make(chan struct{}),
		ended: make(chan struct{}),

		listing: make(chan struct{}, 1),
	}
	if o.MaxLeases > 0 {
		s.leases = newLeaseCount(o.MaxLeases)
	}
	useLog(o.Log)
	var err error
	if s.lock, err = lockState(o.StateFile); err != nil {
		return nil, err
	}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.lock.close())
	}
	return s, nil
}

// open is what Open does with the state file locked. It leaves nothing behind if it fails.
func (s *Store) open(ctx context.Context) error {
	state, err := readState(s.opts.StateFile, s.opts.Namespace)
	if err != nil {
		return err
	}
	s.watch = newWatch(&s.opts, state, &s.clock)
	s.clock.see(0, state.Floor)
	if s.servers, err = connect(&s.opts, s.watch.connected); err != nil {
		return err
	}
	if s.probe, err = connect(&s.opts, nil); err != nil {
		return errors.Join(err, s.servers.close())
	}
	s.watch.adopted = s.known.forgetPools
	err = nil
	if old, ok := errors.AsType[*unsupportedError](s.beat(ctx)); ok {
		err = old // nor will it do later
	}
	if err := errors.Join(err, s.watch.save(s.clock.floor())); err != nil {
		return errors.Join(err, s.servers.close(), s.probe.close())
	}
	beating, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.endBeats = cancel
	s.beats.Go(func() { s.beatUntilStopped(beating) })
	return nil
}

// Close waits for the calls under way, at most for the time that each may take, stops the
// Store's goroutines and closes its connections. It may be called more than once. Calls after it
// fail with backend.ErrUnavailable.
func (s *Store) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.mu.Unlock()
	if !first {
		<-s.ended
		return s.err
	}
	close(s.stop)
	s.endBeats()
	s.beats.Wait()
	s.work.Wait()
	s.err = errors.Join(s.servers.close(), s.probe.close(), s.watch.save(s.clock.floor()), s.lock.close())
	close(s.ended)
	return s.err
}

// begin lets a call begin, or says why not; nothing was applied then. The call ends with
// s.work.Done.
func (s *Store) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return errClosed
	}
	s.work.Add(1)
	return nil
}

var errClosed = fmt.Errorf("%w: the store is closed", backend.ErrUnavailable)

// Held is how many leases were taken through this Store and how many of its calls stand in line for one. Leases are
// counted only if their number is limited, and until they are over by this process's clock or a later call has noticed.
func (s *Store) Held() (leases, waiters int64) {
	if s.leases != nil {
		leases = s.leases.live()
	}
	return leases, s.lines.waiting()
}

// nonce names one execution of a call, whoever repeats it.
func (s *Store) nonce() string { return s.life + strconv.FormatUint(s.calls.Add(1), 36) }
