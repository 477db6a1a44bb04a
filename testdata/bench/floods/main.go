// Command floods measures what clients that mean harm, or have gone astray, cost the
// others:
//
//	go run ./testdata/bench/floods -seconds 5
//
// For each attack it starts the server on a free port of the loopback interface, with
// SCRAM and with locks in memory, and measures an innocent client alone, while another
// server of the machine is attacked (which shows what the attack costs by itself), and
// amid the attack. The attack runs in a process of its own. The whole takes between two
// and three minutes.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	program string
	seconds int
	chosen  string
}

func main() {
	var o options
	flag.StringVar(&o.program, "proxy", "bin/raisinproxy", "the program that is measured")
	flag.IntVar(&o.seconds, "seconds", 5, "how long each client is measured, alone and amid the attack")
	flag.StringVar(&o.chosen, "attacks", "", "only those whose name this regular expression matches")
	name := flag.String("attack", "", "be this attacker, on -address, until the input ends")
	address := flag.String("address", "", "whom to attack")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	var err error
	if *name != "" {
		err = be(ctx, *name, *address)
	} else {
		err = run(ctx, o, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "floods:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

func run(ctx context.Context, o options, out io.Writer) error {
	pattern, err := regexp.Compile(o.chosen)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "| | memory, at most | acquire and release, µs: median alone, with another server attacked, amid the attack | 99th percentile | log-in, µs: median | refused |")
	fmt.Fprintln(out, "| --- | --- | --- | --- | --- | --- |")
	for i := range attacks {
		if a := &attacks[i]; pattern.MatchString(a.name) {
			if err := measure(ctx, o, a, out); err != nil {
				return fmt.Errorf("%s: %w", a.name, err)
			}
		}
	}
	return nil
}

// measure measures one attack and prints its line.
func measure(ctx context.Context, o options, a *attack, out io.Writer) (err error) {
	s, err := startServer(ctx, o.program, a.connections)
	if err != nil {
		return err
	}
	defer func() {
		if failed := s.stop(ctx); err == nil {
			err = failed
		}
	}()
	length := time.Duration(o.seconds) * time.Second
	alone, err := watchInnocent(ctx, s, length)
	if err != nil {
		return err
	}
	other, err := startServer(ctx, o.program, a.connections)
	if err != nil {
		return err
	}
	beside, err := watchAmid(ctx, s, other, a, length)
	if err := firstOf(err, other.stop(ctx)); err != nil {
		return err
	}
	amid, err := watchAmid(ctx, s, s, a, length)
	if err != nil {
		return err
	}
	peak, err := s.peak()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "| %s | %d MiB | %s | %s | %s | %d of %d |\n", a.what, peak>>20,
		micros(alone.pairs, beside.pairs, amid.pairs, 50), micros(alone.pairs, beside.pairs, amid.pairs, 99),
		micros(alone.logins, beside.logins, amid.logins, 50), amid.refused, amid.refused+len(amid.logins))
	return nil
}

// watchAmid measures the innocent client of one server while another, or the same, is
// attacked.
func watchAmid(ctx context.Context, s, attacked *server, a *attack, length time.Duration) (*innocent, error) {
	attacker, err := startAttacker(ctx, a.name, attacked.Address)
	if err != nil {
		return nil, err
	}
	w, err := watchInnocent(ctx, s, length)
	return w, firstOf(err, attacker.stop())
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
