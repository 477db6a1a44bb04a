// Command bench compares raisinproxy with what it would be used instead of:
//
//	make bench ARGS='-contests "^lock" -seconds 5'
//
// contests.go says what is compared. PostgreSQL, pgbouncer, Redis and the proxy are
// started here, on free ports of the loopback interface, each when it is first needed; all of
// them are stopped at the end and at a signal. Contestants take turns in one run,
// so that what else the machine does meets each alike. A target that is missed is shown and is no
// failure; exit code 1 says that something could not be measured.
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
	seconds int
	rounds  int
	chosen  string
	output  string
	proxy   string
}

func main() {
	var o options
	flag.IntVar(&o.seconds, "seconds", 3, "length of one run of one contestant")
	flag.IntVar(&o.rounds, "rounds", 5, "runs of each contestant, where a contest does not say otherwise")
	flag.StringVar(&o.chosen, "contests", "", "only those whose name this regular expression matches")
	flag.StringVar(&o.output, "output", "bin/bench.jsonl", "file for the raw results, one JSON object a line")
	flag.StringVar(&o.proxy, "proxy", "bin/raisinproxy", "the program that is measured")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

func run(ctx context.Context, o options, out io.Writer) (err error) {
	pattern, err := regexp.Compile(o.chosen)
	if err != nil {
		return err
	}
	var selected []contest
	total := starting
	for _, c := range contests() {
		if pattern.MatchString(c.name) {
			selected = append(selected, c)
			total += c.length(o)
		}
	}
	fmt.Fprintf(out, "%d contests, about %v; raw results go to %s; load average %s\n", len(selected), total.Round(time.Minute/2), o.output, load())
	records, err := newRecords(o.output)
	if err != nil {
		return err
	}
	l, err := newLab(o)
	if err != nil {
		return err
	}
	defer func() { err = firstOf(err, l.close(ctx), records.close()) }()
	records.write(machine(o))
	err = compete(ctx, l, selected, records, out)
	fmt.Fprintf(out, "load average, our own included: %s\n", load())
	return err
}

// starting is about what starting and filling all servers takes.
const starting = 30 * time.Second

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
