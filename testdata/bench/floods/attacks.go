package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// attack is one way of being a burden.
type attack struct {
	name, what  string
	connections int // the server's max_connections
	// clients act at once, each again and again until ctx ends.
	clients int
	// act tells by begun that its client is where it wants to be.
	act func(ctx context.Context, address string, begun func())
}

// usual is the default of max_connections.
const usual = 1000

var attacks = []attack{
	{"nothing", "nothing", usual, 0, nil},
	{"slow-loris", "2,000 send a byte of their start-up packet a second", usual, 2000, dripStartup},
	{"half-way", "2,000 leave their log-in off half-way", usual, 2000, leaveLogin},
	{"never-reading", "50 send queries without end and read no answer", usual, 50, neverRead},
	{"connects", "4 connect and hang up, as fast as they can", usual, 4, hangUp},
	{"wrong-passwords", "4 give wrong passwords, each time from another address", usual, 4, guess},
	{"cancels", "4 send cancel requests with wrong keys", usual, 4, cancelWrong},
	{"idle", "10,000 are logged in and idle", 10100, 10000, stayIdle},
}

// underWay is what an attacker prints when all its clients have begun.
const underWay = "under way\n"

// be is an attacker, until its input ends.
func be(ctx context.Context, name, address string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group, begun sync.WaitGroup
	defer group.Wait()
	for i := range attacks {
		if a := &attacks[i]; a.name == name {
			begun.Add(a.clients)
			for range a.clients {
				once := sync.OnceFunc(begun.Done)
				group.Go(func() {
					for ctx.Err() == nil {
						a.act(ctx, address, once)
					}
					once()
				})
			}
		}
	}
	begun.Wait()
	fmt.Print(underWay)
	_, err := io.Copy(io.Discard, os.Stdin)
	cancel()
	return err
}

// dial connects from an address of the loopback network that is not the innocent's, and
// not the one of the time before: who fails again and again from one is slowed down. It
// is nil if that fails. The connection ends with ctx, and by a reset: so many closed ones
// would use up the ports.
func dial(ctx context.Context, address string) net.Conn {
	from := &net.TCPAddr{IP: randomLoopback()}
	conn, err := (&net.Dialer{LocalAddr: from}).DialContext(ctx, "tcp", address)
	if err != nil {
		pause(ctx, 10*time.Millisecond)
		return nil
	}
	_ = conn.(*net.TCPConn).SetLinger(0) // or the ports are used up sooner
	context.AfterFunc(ctx, func() { conn.Close() })
	return conn
}

// randomLoopback is in 127.0.0.0/8, which Linux has as a whole, and not 127.0.0.x.
func randomLoopback() net.IP {
	n := randomNumber()
	return net.IPv4(127, byte(1+n%254), byte(n>>8), byte(1+n>>16%254))
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func startupPacket() []byte {
	packet, err := (&pgproto3.StartupMessage{
		ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": mallory, "database": "shop"},
	}).Encode(nil)
	if err != nil {
		panic(err) // it cannot be
	}
	return packet
}

// dripStartup sends a byte of the start-up packet each second. Who is dropped comes again
// a second later.
func dripStartup(ctx context.Context, address string, begun func()) {
	conn := dial(ctx, address)
	if conn == nil {
		return
	}
	defer conn.Close()
	for _, b := range startupPacket() {
		_, err := conn.Write([]byte{b})
		begun()
		pause(ctx, time.Second)
		if err != nil {
			return
		}
	}
}

// leaveLogin says who it is and then nothing. Who is dropped comes again a second later.
func leaveLogin(ctx context.Context, address string, begun func()) {
	conn := dial(ctx, address)
	if conn == nil {
		return
	}
	defer conn.Close()
	if _, err := conn.Write(startupPacket()); err != nil {
		return
	}
	begun()
	_, _ = io.Copy(io.Discard, conn) // until the server has had enough
	pause(ctx, time.Second)
}

// neverRead has a large value sent back, again and again, and reads none of it.
func neverRead(ctx context.Context, address string, begun func()) {
	conn := logIn(ctx, address, mallory)
	if conn == nil {
		return
	}
	defer conn.Close()
	f := pgproto3.NewFrontend(nil, conn)
	f.Send(&pgproto3.Parse{Query: "SELECT $1::text"})
	for f.Flush() == nil {
		begun()
		f.Send(&pgproto3.Bind{Parameters: [][]byte{make1MiB()}})
		f.Send(&pgproto3.Execute{})
		f.Send(&pgproto3.Sync{})
	}
}

// hangUp connects, and that is all.
func hangUp(ctx context.Context, address string, begun func()) {
	if conn := dial(ctx, address); conn != nil {
		begun()
		conn.Close()
	}
}

// guess logs in with a wrong password.
func guess(ctx context.Context, address string, begun func()) {
	if conn := logIn(ctx, address, alice); conn != nil {
		conn.Close()
	}
	begun()
}

// cancelWrong asks to cancel what a session does that is not there.
func cancelWrong(ctx context.Context, address string, begun func()) {
	conn := dial(ctx, address)
	if conn == nil {
		return
	}
	defer conn.Close()
	request := binary.BigEndian.AppendUint32(nil, 16)
	request = binary.BigEndian.AppendUint32(request, 80877102)
	request = binary.BigEndian.AppendUint32(request, 1<<30+randomNumber()%1000)
	request = binary.BigEndian.AppendUint32(request, randomNumber())
	if _, err := conn.Write(request); err == nil {
		_, _ = io.Copy(io.Discard, conn) // until the server hangs up
	}
	begun()
}

// stayIdle logs in and does nothing.
func stayIdle(ctx context.Context, address string, begun func()) {
	conn := logIn(ctx, address, mallory)
	if conn == nil {
		return
	}
	defer conn.Close()
	begun()
	_, _ = io.Copy(io.Discard, conn)
}
