package login

import (
	"container/list"
	"context"
	"crypto/tls"
	"log/slog"
	"net/netip"
	"sync/atomic"
	"time"

	"raisinproxy/internal/identity"
	"raisinproxy/pgwire/drive"
	"raisinproxy/pgwire/wire"
)

// Config says who is let in.
type Config struct {
	Policy *identity.Policy // required
	Log    *slog.Logger     // required

	// TLS is asked for each connection, so that certificates can be renewed; nil, or a
	// nil result: TLS is not offered. A config with one certificate lets clients bind
	// their authentication to it, one with ALPN in NextProtos lets them begin with TLS
	// at once.
	TLS        func() *tls.Config
	RequireTLS bool

	// LookUp finds a user that the policy's users do not have; nil, or a nil result: there
	// is none. Its error is for the log.
	LookUp func(ctx context.Context, name string) (*identity.User, error)

	MaxConnections int           // of clients that have logged in; 0: no limit
	StartupTimeout time.Duration // from accept to ReadyForQuery; 0: no limit
}

// Door lets clients in. It is safe for concurrent use.
type Door struct {
	cfg      Config
	cancel   func(pid int32, secret uint32)
	queue    *queue
	throttle identity.Throttle // of attempts to log in
	lookups  identity.Throttle // of questions for users
}

// NewDoor makes one. cancel takes cancel requests.
func NewDoor(cfg Config, cancel func(pid int32, secret uint32)) *Door {
	return &Door{cfg: cfg, cancel: cancel, queue: newQueue(cfg.MaxConnections)}
}

func (d *Door) tlsConfig() *tls.Config {
	if d.cfg.TLS == nil {
		return nil
	}
	return d.cfg.TLS()
}

// Visitor is a client that has not logged in. It belongs to the goroutine that serves it.
type Visitor struct {
	door    *Door
	client  *drive.Client
	log     *slog.Logger
	channel identity.Channel
	startBy time.Time     // when the start-up has to be over; zero: no limit
	network netip.Addr    // whom the client's address stands for
	place   *list.Element // in the queue, which guards it
	evicted atomic.Bool   // too many others are logging in
}

// Enter takes a client in. If too many are logging in another one has to go. Leave must be called.
func (d *Door) Enter(client *drive.Client, log *slog.Logger) *Visitor {
	v := &Visitor{door: d, client: client, log: log, network: identity.NetworkOf(client.Conn().RemoteAddr())}
	if d.cfg.StartupTimeout > 0 {
		v.startBy = time.Now().Add(d.cfg.StartupTimeout)
	}
	if other := d.queue.enter(v); other != nil {
		other.evict()
		if d.queue.isNews(time.Now()) {
			d.cfg.Log.Warn("too many clients are logging in: those that take longest are dropped", "limit", d.queue.limit)
		}
	}
	return v
}

// Leave ends the visit, whatever came of it.
func (v *Visitor) Leave() { v.door.queue.leave(v) }

// evict ends a start-up that the queue has no room for.
func (v *Visitor) evict() {
	v.client.Cancel(errEvicted)
	v.client.Wake()
}

// Guest is a client that has logged in.
type Guest struct {
	Identity   identity.Identity
	user       string // as it calls itself
	Database   string
	Parameters []wire.Parameter // that it has sent besides
	Replicates bool             // it asks for a connection for replication
	StartBy    time.Time        // when the start-up has to be over; zero: no limit
}

// LogIn brings a connection from its first byte to where it is known whose it is. An error that is a *pgerr.Error is
// to be told to the client.
func (v *Visitor) LogIn() (*Guest, error) {
	defer v.Leave() // should it panic
	guest, err := v.logIn()
	v.Leave()
	if v.evicted.Load() {
		return nil, errEvicted
	}
	return guest, err
}
