package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"raisinproxy/backend/inprocess"
	"raisinproxy/backend/moving"
	"raisinproxy/backend/redis"
)

const exportHelp = `Usage:
  raisinproxy export --config FILE [--data-dir DIR] [--again] OUT

Moves pools and live leases out of the store of FILE, into the new file OUT, for
raisinproxy import. The store serves nobody from then on, so that no two stores sell
the same units: a data folder cannot be opened any more, and every call of proxies on
the Redis namespace fails with 55000. Another proxy may be running on a Redis; a data
folder must be that of a server that was stopped.

  --data-dir DIR   a data folder other than FILE's, that of a backup say
  --again          write a file of a store that was exported already: only if the
                   first file is lost and was imported nowhere

raisinproxy reopen lets the store go on after all.
`

const importHelp = `Usage:
  raisinproxy import --config FILE [--replace] IN

Fills the empty store of FILE with what raisinproxy export has written to IN. Tokens
go on above all that the old store may have told. A lease has the time that it had
left at its export, counted from the import: never less than was granted. The store
serves nobody until all is in it; an import that was interrupted is run again. IN is
then called IN.imported, since a file must not be imported twice.

  --replace   remove what an export has left in the store before
`

const reopenHelp = `Usage:
  raisinproxy reopen --config FILE OUT
  raisinproxy reopen --config FILE --lost

Lets the store of FILE go on after an export to OUT, which is called OUT.reopened then,
since it must not be imported any more.

  --lost   there is no OUT, and it was imported nowhere: otherwise both stores sell the
           same units
`

// movingFlags reads the command line of a command that moves, and the configuration. files is how many
// arguments there have to be besides.
func movingFlags(name string, o *options, args []string, std streams, files int, more func(*flag.FlagSet)) (*Config, []string, error) {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error says it
	config := flags.String("config", o.config.value, "")
	more(flags)
	err := flags.Parse(args)
	switch {
	case err != nil:
		return nil, nil, usagef("%s: %v", name, wrongFlag(err, flags))
	case flags.NArg() != files && files == 0:
		return nil, nil, usagef("%s takes no argument but its flags", name)
	case flags.NArg() != files:
		return nil, nil, usagef("%s takes one file, after its flags", name)
	case *config == "":
		return nil, nil, usagef("%s needs --config FILE", name)
	}
	o.config = option{name: "--config", value: *config}
	cfg, problems := load(o)
	if len(problems) > 0 {
		printProblems(std.err, problems)
		return nil, nil, errReported
	}
	if cfg.Locks.Backend == backendInProcess && cfg.Locks.InProcess.DataDir == "" {
		return nil, nil, fmt.Errorf(`%s: [locks.inprocess] data_dir is "": such a store ends with its process`, name)
	}
	return cfg, flags.Args(), nil
}

// export is the command.
func export(ctx context.Context, o *options, args []string, std streams) error {
	var again bool
	var dir string
	cfg, files, err := movingFlags("export", o, args, std, 1, func(flags *flag.FlagSet) {
		flags.BoolVar(&again, "again", false, "")
		flags.StringVar(&dir, "data-dir", "", "")
	})
	if err != nil {
		return err
	}
	c := &cfg.Locks
	if dir != "" {
		c.Backend, c.InProcess.DataDir = backendInProcess, dir
	}
	path, err := filepath.Abs(files[0]) // the seal names it
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	out, err := moving.Create(path, c.Backend)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	defer out.Discard()
	log := newLogger(std.err, max(cfg.LogLevel, slog.LevelWarn))
	var totals moving.Totals
	if c.Backend == backendRedis {
		totals, err = redis.Export(ctx, c.redisOptions(log), out, again)
	} else {
		totals, err = inprocess.Export(c.InProcess.DataDir, out, again, inprocess.Options{Log: log})
	}
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	fmt.Fprintf(std.out, "exported %d pools and %d live leases from %s to %s; its greatest token is at most %d\n"+
		"the store serves nobody any more: raisinproxy import fills another one, or raisinproxy reopen lets it go on\n",
		totals.Pools, totals.Leases, c.store(), files[0], totals.GreatestToken)
	return nil
}

// importFile is the command import.
func importFile(ctx context.Context, o *options, args []string, std streams) error {
	var replace bool
	cfg, files, err := movingFlags("import", o, args, std, 1, func(flags *flag.FlagSet) { flags.BoolVar(&replace, "replace", false, "") })
	if err != nil {
		return err
	}
	in, err := filepath.Abs(files[0])
	if err != nil {
		return err
	}
	from, err := openExport(in)
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	c := &cfg.Locks
	log := newLogger(std.err, max(cfg.LogLevel, slog.LevelWarn))
	if c.Backend == backendRedis {
		err = redis.Import(ctx, c.redisOptions(log), from, replace)
	} else {
		err = inprocess.Import(c.InProcess.DataDir, in, from, replace, inprocess.Options{Log: log})
	}
	if err := errors.Join(err, from.Close()); err != nil {
		return fmt.Errorf("import: %w", err)
	}
	if err := os.Rename(in, in+imported); err != nil {
		return fmt.Errorf("import: all is in %s, and %s must not be imported again: %w", c.store(), in, err)
	}
	fmt.Fprintf(std.out, "imported %d pools and %d leases into %s; tokens are above %d from now on\nthe file is called %s now, since it must not be imported again\n",
		from.Totals.Pools, from.Totals.Leases, c.store(), from.Totals.GreatestToken, files[0]+imported)
	return nil
}

// imported is what the name of a file ends with when it was imported.
const imported = ".imported"

func openExport(path string) (*moving.File, error) {
	from, err := moving.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, done := os.Stat(path + imported); done == nil {
			return nil, fmt.Errorf("%s was imported already, and is called %s since", path, path+imported)
		}
	}
	return from, err
}

// reopen is the command.
func reopen(ctx context.Context, o *options, args []string, std streams) error {
	lost := slices.ContainsFunc(args, func(arg string) bool { return arg == "--lost" || arg == "-lost" })
	files := 1
	if lost {
		files = 0
	}
	cfg, out, err := movingFlags("reopen", o, args, std, files, func(flags *flag.FlagSet) { flags.Bool("lost", false, "") })
	if err != nil {
		return err
	}
	id, void := "", func() error { return nil }
	if !lost {
		from, err := openExport(out[0])
		if err == nil {
			err = from.Close()
		}
		if err != nil {
			return fmt.Errorf("reopen: %w", err)
		}
		id, void = from.Header.ID, func() error { return os.Rename(out[0], out[0]+".reopened") }
	}
	c := &cfg.Locks
	if c.Backend == backendRedis {
		err = redis.Reopen(ctx, c.redisOptions(newLogger(std.err, max(cfg.LogLevel, slog.LevelWarn))), id, void)
	} else {
		err = inprocess.Reopen(c.InProcess.DataDir, id, void)
	}
	if err != nil {
		return fmt.Errorf("reopen: %w", err)
	}
	fmt.Fprintf(std.out, "%s goes on; the file that it was exported to must not be imported\n", c.store())
	return nil
}

// store names where locks and pools are.
func (c *LocksConfig) store() string {
	if c.Backend == backendRedis {
		return "namespace " + c.Redis.Namespace
	}
	return c.InProcess.DataDir
}
