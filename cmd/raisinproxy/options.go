package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
)

const helpText = `raisinproxy speaks the PostgreSQL protocol and keeps lease locks and inventory.

Usage:
  raisinproxy --dev-mode                      try it: in memory, loopback, no passwords
  raisinproxy --config FILE                   serve
  raisinproxy --check-config --config FILE    print every problem, or ok
  raisinproxy passwd USER                     read a password, print a line for the users file
  raisinproxy stubs                           print SQL of the functions for schema browsers
  raisinproxy adopt --config FILE             accept a Redis that lost state
  raisinproxy backup --config FILE DEST       copy the lock store, while the server runs
  raisinproxy repair --data-dir DIR           say what of a damaged lock store can be read
  raisinproxy export --config FILE OUT        move pools and leases out of a store, into a file
  raisinproxy import --config FILE IN         fill an empty store of either kind from it
  raisinproxy reopen --config FILE OUT        let a store go on that was exported
  raisinproxy help COMMAND                    say more about one of these commands

Flags:
  --config FILE        configuration in TOML
  --dev-mode           locks in memory, no config file, loopback only, everybody is let in
  --bind-address ADDR  listen address (default 127.0.0.1); overrides [pgwire] bind_address
  --port PORT          listen port (default 6433; 0 takes a free one); overrides [pgwire] port
  --log-level LEVEL    debug, info, warn or error (default info)
  --check-config       check the configuration and exit: 0 if it is right, 1 if not
  --version            print version, commit and Go version and exit
  --help               print this and exit

Environment: RAISIN_CONFIG, RAISIN_DEV_MODE, RAISIN_BIND_ADDRESS, RAISIN_PORT and
RAISIN_LOG_LEVEL stand for the flags of these names. A flag wins over the
environment, the environment over the file, the file over the default.

SIGTERM and SIGINT let running statements finish; a second one ends at once.
`

// option is a flag that was given, or the environment variable in its place.
type option struct {
	name  string // as the user wrote it: "--port" or "RAISIN_PORT"; "" if not given
	value string
}

func (o option) given() bool { return o.name != "" }

// options are what the command line and the environment say.
type options struct {
	config      option
	devMode     option
	bindAddress option
	port        option
	logLevel    option

	checkConfig bool
	version     bool
	command     []string // what follows the flags
}

// parseOptions reads args, without the program's name, and the environment. The
// error is flag.ErrHelp if help was asked for, else one for the user.
func parseOptions(args []string, getenv func(string) string) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("raisinproxy", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the caller prints the error
	flags.BoolVar(&o.checkConfig, "check-config", false, "")
	flags.BoolVar(&o.version, "version", false, "")
	flags.Bool("dev-mode", false, "")
	settings := map[string]*option{
		"config":       &o.config,
		"dev-mode":     &o.devMode,
		"bind-address": &o.bindAddress,
		"port":         &o.port,
		"log-level":    &o.logLevel,
	}
	for name, setting := range settings {
		if flags.Lookup(name) == nil {
			flags.String(name, "", "")
		}
		env := "RAISIN_" + strings.ReplaceAll(strings.ToUpper(name), "-", "_")
		if value := getenv(env); value != "" {
			*setting = option{name: env, value: value}
		}
	}
	if err := flags.Parse(args); err != nil {
		return nil, wrongFlag(err, flags)
	}
	flags.Visit(func(f *flag.Flag) {
		if setting := settings[f.Name]; setting != nil {
			*setting = option{name: "--" + f.Name, value: f.Value.String()}
		}
	})
	o.command = flags.Args()
	return o, o.checkFlags()
}

// wrongFlag words an error of package flag as this program's are worded.
func wrongFlag(err error, known *flag.FlagSet) error {
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	if name, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); ok {
		var names []string
		known.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
		return fmt.Errorf("unknown flag --%s; the nearest known flag is --%s", name, nearest(name, slices.Values(names)))
	}
	return errors.New(strings.NewReplacer(": -", ": --", " -", " --").Replace(err.Error()))
}

// checkFlags finds values that no configuration could make right. What the environment
// says wrong is told with the configuration.
func (o *options) checkFlags() error {
	for _, setting := range []struct {
		option
		right func(string) error
	}{{o.port, rightPort}, {o.logLevel, rightLogLevel}} {
		if !strings.HasPrefix(setting.name, "--") {
			continue
		}
		if err := setting.right(setting.value); err != nil {
			return fmt.Errorf("%s %w", setting.name, err)
		}
	}
	return nil
}

func rightPort(value string) error {
	if _, err := strconv.ParseUint(value, 10, 16); err != nil {
		return errors.New("must be a whole number from 0 to 65535")
	}
	return nil
}

func rightLogLevel(value string) error {
	if err := new(slog.Level).UnmarshalText([]byte(value)); err != nil {
		return errors.New("must be debug, info, warn or error")
	}
	return nil
}

// saysWhat tells whether there is something to serve, or to check.
func (o *options) saysWhat() bool {
	devMode, wrong := o.isDevMode()
	return devMode || wrong != nil || o.config.given()
}

// isDevMode tells whether dev mode was asked for.
func (o *options) isDevMode() (bool, *problem) {
	if !o.devMode.given() {
		return false, nil
	}
	on, err := strconv.ParseBool(o.devMode.value)
	if err != nil {
		return false, &problem{key: o.devMode.name, text: "must be true or false"}
	}
	return on, nil
}

// override puts flags and environment over what the file said. overridden holds,
// by path, what the user wrote instead of the key.
func (o *options) override(c *Config) (overridden map[string]string, problems []problem) {
	overridden = map[string]string{}
	if o.bindAddress.given() {
		c.PGWire.BindAddress = o.bindAddress.value
		overridden["pgwire.bind_address"] = o.bindAddress.name
	}
	if o.port.given() {
		overridden["pgwire.port"] = o.port.name
		if err := rightPort(o.port.value); err != nil {
			problems = append(problems, problem{key: o.port.name, text: err.Error()})
		}
		c.PGWire.Port, _ = strconv.Atoi(o.port.value)
	}
	if o.logLevel.given() {
		if err := rightLogLevel(o.logLevel.value); err != nil {
			problems = append(problems, problem{key: o.logLevel.name, text: err.Error()})
		}
		_ = c.LogLevel.UnmarshalText([]byte(o.logLevel.value)) // the default, if it is wrong
	}
	return overridden, problems
}

// usageError is a wrong command line, as opposed to a wrong configuration.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }
