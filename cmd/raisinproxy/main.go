// Command raisinproxy serves lease locks and inventory over the PostgreSQL
// protocol.
//
//	main.go         the command line, signals; options.go, flags and environment; commands.go, which commands there are
//	app.go          puts the server together and runs it; loops.go, how many event loops; log.go, the log
//	config.go       the configuration and its keys; load.go, reading it; document.go, values.go, TOML and its values;
//	                nearest.go, what a mistaken key was meant to be
//	check.go        what single keys cannot tell; credentials.go, TLS and users; upstream.go, [upstream]; redis.go,
//	                [locks.redis], and the command adopt
//	try.go          what is tried at start and by --check-config; renewal.go, what is reread without a restart
//	notify.go       telling the service manager
//	backup.go       the command; control.go, how it asks the running server; socketname.go, by which socket
//	repair.go, moving.go, passwd.go, stubs.go, stub_views.go, version.go
//	                the commands of these names; moving.go has export, import and reopen
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// Exit codes.
const (
	exitFailure = 1
	exitUsage   = 2
)

// streams are the standard ones, or a test's.
type streams struct {
	in       *os.File
	out, err io.Writer
}

func main() {
	std := streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}
	err := run(context.Background(), os.Args[1:], os.Getenv, std)
	os.Exit(exitCode(err, std.err))
}

// run is the program. What is wrong with a configuration it prints itself.
func run(ctx context.Context, args []string, getenv func(string) string, std streams) error {
	o, err := parseOptions(args, getenv)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(std.out, helpText)
		return nil
	}
	switch {
	case err != nil:
		return usagef("%v", err)
	case o.version:
		fmt.Fprintln(std.out, versionText())
		return nil
	case len(o.command) > 0:
		return runCommand(ctx, o.command[0], o, o.command[1:], std)
	case !o.saysWhat():
		return usagef("say --config FILE, or --dev-mode to try it without one")
	case o.checkConfig:
		return checkConfig(ctx, o, std)
	}
	return serve(ctx, o, std)
}

// checkConfig prints what is wrong to out: that is the answer to the question.
func checkConfig(ctx context.Context, o *options, std streams) error {
	cfg, problems := load(o)
	if len(problems) > 0 {
		printProblems(std.out, problems)
		return errReported
	}
	problems, warnings := cfg.try(ctx)
	for _, warning := range append(cfg.Warnings, warnings...) {
		fmt.Fprintln(std.err, "warning: "+warning)
	}
	if len(problems) > 0 {
		printProblems(std.out, problems)
		return errReported
	}
	fmt.Fprintln(std.out, "ok")
	return nil
}

func serve(ctx context.Context, o *options, std streams) error {
	cfg, problems := load(o)
	if len(problems) > 0 {
		printProblems(std.err, problems)
		return errReported
	}
	ctx, stop := endOnSignal(ctx, std.err)
	defer stop()
	log := newLogger(std.err, cfg.LogLevel)
	cfg.EventLoops = makeRoomForLoops()
	app, err := NewApp(ctx, cfg, log)
	if err != nil {
		log.Error("cannot start", "error", err)
		return errReported
	}
	app.announce(std.err)
	defer onHangUp(app.Reload)()
	if err := app.Run(ctx); err != nil {
		log.Error("the server failed", "error", err)
		return errReported
	}
	return nil
}

func printProblems(w io.Writer, problems []problem) {
	for _, p := range problems {
		fmt.Fprintln(w, p)
	}
}

// errReported is a failure that the user has been told of.
var errReported = errors.New("reported")

func exitCode(err error, w io.Writer) int {
	var usage *usageError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errReported):
		return exitFailure
	case errors.As(err, &usage):
		fmt.Fprintf(w, "raisinproxy: %v\nraisinproxy --help says more\n", err)
		return exitUsage
	}
	fmt.Fprintf(w, "raisinproxy: %v\n", err)
	return exitFailure
}

// onHangUp calls reload at each SIGHUP, until stop.
func onHangUp(reload func()) (stop func()) {
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGHUP)
	var group sync.WaitGroup
	group.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-signals:
				reload()
			}
		}
	})
	return func() { signal.Stop(signals); close(done); group.Wait() }
}

// oneSignal is how long after the first signal another is still taken for the same:
// coreutils' timeout, for one, signals the process and then its group.
const oneSignal = 500 * time.Millisecond

// endOnSignal gives a context that the first SIGTERM or SIGINT ends. The second ends
// the process, whatever still runs.
func endOnSignal(parent context.Context, w io.Writer) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	signals, done := make(chan os.Signal, 2), make(chan struct{})
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		if s := secondSignal(signals, done, cancel); s != nil {
			fmt.Fprintf(w, "raisinproxy: second signal (%v), ending at once\n", s)
			os.Exit(exitFailure)
		}
	}()
	return ctx, func() { signal.Stop(signals); close(done); cancel() }
}

// secondSignal calls first at the first signal and returns the second; nil when it is done
// before there was one.
func secondSignal(signals <-chan os.Signal, done <-chan struct{}, first func()) os.Signal {
	var since time.Time
	for {
		select {
		case <-done:
			return nil
		case s := <-signals:
			switch {
			case since.IsZero():
				since = time.Now()
				first()
			case time.Since(since) > oneSignal:
				return s
			}
		}
	}
}
