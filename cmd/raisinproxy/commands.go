package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// command is what may follow the flags.
type command struct {
	help string
	run  func(ctx context.Context, o *options, args []string, std streams) error
}

const stubsHelp = `Usage: raisinproxy stubs [--views]

Prints SQL that creates functions of the proxy's names in a PostgreSQL, for schema
browsers. They only say that they cannot be called directly:

  raisinproxy stubs | psql -v ON_ERROR_STOP=1 -h … -U … shop

  --views  also views by the names of the functions that return rows, for tools that
           list relations only
`

const versionHelp = `Usage: raisinproxy version

Prints version, commit and Go version, as raisinproxy --version does.
`

// commands are all that there are, by name.
func commands() map[string]command {
	return map[string]command{
		"adopt":  {adoptHelp, adopt},
		"backup": {backupHelp, backup},
		"export": {exportHelp, export},
		"help":   {helpText, help},
		"import": {importHelp, importFile},
		"passwd": {passwdHelp, func(_ context.Context, _ *options, args []string, std streams) error {
			if len(args) != 1 {
				return usagef("passwd takes one argument: raisinproxy passwd USER")
			}
			return passwd(args[0], std.in, std.out, std.err)
		}},
		"reopen": {reopenHelp, reopen},
		"repair": {repairHelp, repair},
		"stubs": {stubsHelp, func(_ context.Context, _ *options, args []string, std streams) error {
			views := len(args) == 1 && strings.TrimLeft(args[0], "-") == "views" && strings.HasPrefix(args[0], "-")
			if len(args) > 0 && !views {
				return usagef("stubs takes no argument but --views")
			}
			err := stubs(std.out)
			if err == nil && views {
				err = stubViews(std.out)
			}
			return err
		}},
		"version": {versionHelp, withoutArguments("version", func(std streams) error {
			_, err := fmt.Fprintln(std.out, versionText())
			return err
		})},
	}
}

func withoutArguments(name string, run func(streams) error) func(context.Context, *options, []string, streams) error {
	return func(_ context.Context, _ *options, args []string, std streams) error {
		if len(args) > 0 {
			return usagef("%s takes no argument", name)
		}
		return run(std)
	}
}

// runCommand runs the command of that name, or prints its help.
func runCommand(ctx context.Context, name string, o *options, args []string, std streams) error {
	c, err := findCommand(name)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(args, asksForHelp) {
		_, err := fmt.Fprint(std.out, c.help)
		return err
	}
	return c.run(ctx, o, args, std)
}

func findCommand(name string) (command, error) {
	all := commands()
	c, ok := all[name]
	if !ok {
		return command{}, usagef("unknown command %q; the nearest known command is %s", name, nearest(name, maps.Keys(all)))
	}
	return c, nil
}

func asksForHelp(arg string) bool {
	switch strings.TrimPrefix(arg, "-") {
	case "-help", "-h", "h", "help":
		return strings.HasPrefix(arg, "-")
	}
	return false
}

// help is the command: raisinproxy help, or help COMMAND.
func help(_ context.Context, _ *options, args []string, std streams) error {
	text := helpText
	switch len(args) {
	case 0:
	case 1:
		c, err := findCommand(args[0])
		if err != nil {
			return err
		}
		text = c.help
	default:
		return usagef("help takes at most one argument, a command")
	}
	_, err := fmt.Fprint(std.out, text)
	return err
}
