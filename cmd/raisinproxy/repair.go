package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"

	"raisinproxy/backend/inprocess"
)

const repairHelp = `Usage:
  raisinproxy repair --data-dir DIR [--yes]

Says what can be read of the lock store in DIR, the [locks.inprocess] data_dir of a
server that does not run, and what is missing. It changes nothing there, and exits
with 1 if something is missing.

  --yes   put a store of what can be read in its place, if something is missing. The
          damaged folder is kept beside it, as DIR.damaged-TIME. What the lost records
          had changed is as before: units may be sold again. Set the pools right by
          claims and releases before you let buyers in.
`

// repair is the command.
func repair(_ context.Context, _ *options, args []string, std streams) error {
	flags := flag.NewFlagSet("repair", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error says it
	dir := flags.String("data-dir", "", "")
	inPlace := flags.Bool("yes", false, "")
	err := flags.Parse(args)
	switch {
	case err != nil:
		return usagef("repair: %v", wrongFlag(err, flags))
	case flags.NArg() > 0:
		return usagef("repair takes no argument but its flags")
	case *dir == "":
		return usagef("repair needs --data-dir DIR")
	}
	report, err := inprocess.Repair(*dir, *inPlace, newLogger(std.err, slog.LevelError))
	for _, missing := range report.Missing {
		fmt.Fprintf(std.out, "missing: %v\n", missing)
	}
	if err != nil {
		return fmt.Errorf("repair: %w", err)
	}
	fmt.Fprintf(std.out, "readable: %d leases and %d pools\n", report.Leases, report.Pools)
	switch {
	case len(report.Missing) == 0:
		fmt.Fprintf(std.out, "the store in %s is whole\n", *dir)
	case report.Kept != "":
		fmt.Fprintf(std.out, "%s has what is readable now; the damaged folder is kept as %s\n", *dir, report.Kept)
	default:
		return errors.New("repair: nothing was changed; with --yes a store of what is readable takes its place")
	}
	return nil
}
