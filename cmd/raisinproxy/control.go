package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"raisinproxy/backend/inprocess"
)

// A control lets commands of the same machine and user ask the server for something, by a
// socket in the data folder: who may read that may ask. A request and its reply are one
// JSON object each; who closes the connection takes the request back.
type control struct {
	socket   *socketName
	listener *net.UnixListener
	store    *inprocess.Store
	log      *slog.Logger
	ctx      context.Context //nolint:containedctx // of all requests, until close
	cancel   context.CancelCauseFunc
	serving  sync.WaitGroup
}

// controlRequest is what a command asks for.
type controlRequest struct {
	Backup string `json:"backup"` // the folder to make, an absolute path
}

// controlReply is what it is told.
type controlReply struct {
	Error string    `json:"error,omitempty"`
	Pools int       `json:"pools"`
	AsOf  time.Time `json:"as_of"`
}

const (
	// controlPatience is how long a request may take to come, and to be stopped.
	controlPatience = 5 * time.Second
	maxRequestBytes = 64 << 10
)

var (
	errShutdown   = errors.New("the server shuts down")
	errWithdrawn  = errors.New("the command was interrupted")
	errNotASocket = errors.New("there is a file of this name that is no socket")
)

// listenControl listens in the folder of a store that is open. That this process has the
// folder makes a socket that is there one of a process that is gone.
func listenControl(ctx context.Context, dir string, store *inprocess.Store, log *slog.Logger) (*control, error) {
	socket, err := nameSocket(dir)
	if err != nil {
		return nil, err
	}
	listener, err := socket.listen(ctx)
	if err != nil {
		return nil, errors.Join(err, socket.close())
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx)) // that one is for the opening
	c := &control{socket: socket, listener: listener, store: store, log: log, ctx: ctx, cancel: cancel}
	c.serving.Go(c.accept)
	return c, nil
}

func (c *control) accept() {
	for {
		conn, err := c.listener.AcceptUnix()
		if err != nil {
			return // it is closed
		}
		c.serving.Go(func() { c.serve(conn) })
	}
}

// serve answers one request.
func (c *control) serve(conn *net.UnixConn) {
	defer conn.Close() //nolint:errcheck // the reply was written or not
	_ = conn.SetReadDeadline(time.Now().Add(controlPatience))
	var request controlRequest
	if err := json.NewDecoder(io.LimitReader(conn, maxRequestBytes)).Decode(&request); err != nil {
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	ctx, cancel := context.WithCancelCause(c.ctx)
	defer cancel(nil)
	go func() {
		_, _ = io.Copy(io.Discard, conn) // until the command is gone
		cancel(errWithdrawn)
	}()
	_ = json.NewEncoder(conn).Encode(c.backup(ctx, request.Backup))
}

func (c *control) backup(ctx context.Context, dest string) controlReply {
	if !filepath.IsAbs(dest) {
		return controlReply{Error: "the path of a backup must be absolute"}
	}
	report, err := c.store.Backup(ctx, dest)
	if err != nil {
		c.log.Warn("a backup failed; the store goes on", "folder", dest, "error", err)
		return controlReply{Error: err.Error()}
	}
	c.log.Info("backup made", "folder", dest, "pools", report.Pools, "as_of", report.AsOf)
	return controlReply{Pools: report.Pools, AsOf: report.AsOf}
}

// close takes the socket away and stops requests. One that a disk holds up is left behind.
func (c *control) close() error {
	c.cancel(errShutdown)
	err := errors.Join(c.listener.Close(), c.socket.close())
	stopped := make(chan struct{})
	go func() { c.serving.Wait(); close(stopped) }()
	select {
	case <-stopped:
	case <-time.After(controlPatience):
	}
	return err
}

// askServer sends a request to the server that has a folder open. It fails with errNoServer if
// none listens there.
func askServer(ctx context.Context, dir string, request controlRequest) (reply controlReply, err error) {
	socket, err := nameSocket(dir)
	if err != nil {
		return reply, err
	}
	defer socket.close() //nolint:errcheck // it was only read
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket.path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return reply, errNoServer
	case errors.Is(err, fs.ErrPermission):
		return reply, fmt.Errorf("only the user that the server runs as may ask it: %w", err)
	case err != nil:
		return reply, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	err = json.NewEncoder(conn).Encode(request)
	if err == nil {
		err = json.NewDecoder(conn).Decode(&reply)
	}
	switch {
	case ctx.Err() != nil:
		return reply, ctx.Err()
	case err != nil:
		return reply, fmt.Errorf("the server ended before it replied: %w", err)
	case reply.Error != "":
		return reply, errors.New(reply.Error)
	}
	return reply, nil
}

var errNoServer = errors.New("no server listens in the data folder")
