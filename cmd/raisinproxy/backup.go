package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"raisinproxy/backend/inprocess"
)

const backupHelp = `Usage:
  raisinproxy backup --config FILE DEST

Makes a copy of the lock store of [locks.inprocess] data_dir in the folder DEST, which
must not exist or be empty, while the server runs or while it does not. In it are all
pools with everything that was acknowledged before the command was started. Nobody
waits for it, and if it fails, DEST is emptied and the server goes on.

To restore it: stop the server, move the data_dir away, copy DEST to its place (as the
user that the server runs as), and start the server. What was sold since the backup is
forgotten: set the pools right before you let buyers in. All leases are over: for
[locks] max_ttl_ms from the start no lock is granted, since holders may be left that
the backup does not know of. If you know that there are none, [locks.inprocess]
on_restore = "continue" grants them at once.
`

// backup is the command. Its --config may stand before or after its name.
func backup(ctx context.Context, o *options, args []string, std streams) error {
	flags := flag.NewFlagSet("backup", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error says it
	config := flags.String("config", o.config.value, "")
	err := flags.Parse(args)
	switch {
	case err != nil:
		return usagef("backup: %v", wrongFlag(err, flags))
	case *config == "":
		return usagef("backup needs --config FILE")
	case flags.NArg() != 1:
		return usagef("backup takes one argument, after its flags: raisinproxy backup --config FILE DEST")
	}
	dest, err := filepath.Abs(flags.Arg(0))
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	o.config = option{name: "--config", value: *config}
	cfg, problems := load(o)
	if len(problems) > 0 {
		printProblems(std.err, problems)
		return errReported
	}
	if err := cfg.Locks.hasDataDir(); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	ctx, stop := endOnSignal(ctx, std.err)
	defer stop()
	report, err := makeBackup(ctx, &cfg.Locks, dest)
	if err != nil && ctx.Err() != nil {
		return errors.New("backup: interrupted")
	}
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	fmt.Fprintf(std.out, "%d pools as of %s are in %s\n", report.Pools, report.AsOf.UTC().Format(time.RFC3339Nano), dest)
	return nil
}

func (c *LocksConfig) hasDataDir() error {
	switch {
	case !c.Enabled:
		return errors.New("[locks] enabled is not true, so there is no lock store")
	case c.Backend != backendInProcess:
		return errors.New(`[locks] backend is not "inprocess": back up Redis by its own means`)
	case c.InProcess.DataDir == "":
		return errors.New(`[locks.inprocess] data_dir is "", so everything is in memory only`)
	}
	_, err := os.Stat(c.InProcess.DataDir)
	return err
}

// isSeen finds out whether a folder of the server's is one of this process: a container and
// systemd's PrivateTmp have others under the same names.
func isSeen(dest string) error {
	if _, err := os.Stat(dest); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the server made it in %s, but there is none here: it sees other folders, as in a container or with a private /tmp", dest)
	}
	return nil
}

// makeBackup has it made by the server that has the folder open, or makes it itself if
// there is none.
func makeBackup(ctx context.Context, c *LocksConfig, dest string) (inprocess.BackupReport, error) {
	reply, err := askServer(ctx, c.InProcess.DataDir, controlRequest{Backup: dest})
	if err == nil {
		return inprocess.BackupReport{Pools: reply.Pools, AsOf: reply.AsOf}, isSeen(dest)
	}
	if !errors.Is(err, errNoServer) {
		return inprocess.BackupReport{}, err
	}
	report, err := inprocess.BackupFolder(ctx, c.InProcess.DataDir, dest, inprocess.Options{MaxTTL: c.MaxTTL})
	if errors.Is(err, inprocess.ErrInUse) {
		err = fmt.Errorf("%w; it starts or ends just now, or could not make the socket %s, as its log says", err, inprocess.ControlFile)
	}
	return report, err
}
