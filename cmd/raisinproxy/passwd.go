package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/term"

	"raisinproxy/internal/identity"
	"raisinproxy/sqlfuncs"
)

const passwdHelp = `Usage: raisinproxy passwd USER

Reads a password, without echo and twice from a terminal, else one line of standard
input, and prints a line for the users file with a SCRAM-SHA-256 verifier:

  raisinproxy passwd alice >> users.txt
`

// passwd prints a users-file line for user. Prompts go to prompts, so that out can
// be a file.
func passwd(user string, in *os.File, out, prompts io.Writer) error {
	if _, err := identity.Line(user, ""); err != nil {
		return err
	}
	if user == sqlfuncs.Anonymous {
		fmt.Fprintln(prompts, "warning: user anonymous may call no function of the proxy, not even with a password")
	}
	password, err := readNewPassword(user, in, prompts)
	if err != nil {
		return err
	}
	verifier, err := identity.Verifier(password)
	if err != nil {
		return err
	}
	line, err := identity.Line(user, verifier)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, line)
	return err
}

func readNewPassword(user string, in *os.File, prompts io.Writer) (string, error) {
	if !term.IsTerminal(int(in.Fd())) {
		return readLine(in)
	}
	restore, err := restoreOnSignal(int(in.Fd()))
	if err != nil {
		return "", err
	}
	defer restore()
	first, err := readHidden(in, prompts, fmt.Sprintf("Password for user %s: ", user))
	if err != nil {
		return "", err
	}
	again, err := readHidden(in, prompts, "Once more: ")
	if err != nil {
		return "", err
	}
	if first != again {
		return "", errors.New("the two passwords differ")
	}
	return first, nil
}

func readHidden(in *os.File, prompts io.Writer, prompt string) (string, error) {
	fmt.Fprint(prompts, prompt)
	password, err := term.ReadPassword(int(in.Fd()))
	fmt.Fprintln(prompts) // the user's own line break was not echoed either
	return string(password), err
}

// restoreOnSignal gives the terminal its echo back if the user interrupts: only the
// process that took it knows how it was.
func restoreOnSignal(fd int) (stop func(), err error) {
	before, err := term.GetState(fd)
	if err != nil {
		return nil, err
	}
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		select {
		case <-signals:
			_ = term.Restore(fd, before) // the process ends either way
			os.Exit(exitFailure)
		case <-done:
		}
	}()
	return func() { signal.Stop(signals); close(done) }, nil
}

// maxPasswordLine is more than any client can send.
const maxPasswordLine = 64 << 10

func readLine(in io.Reader) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(in, maxPasswordLine+1)).ReadString('\n')
	switch {
	case len(line) > maxPasswordLine:
		return "", errors.New("the password is too long")
	case err == io.EOF && line == "":
		return "", errors.New("no password on standard input")
	case err != nil && err != io.EOF:
		return "", err
	}
	return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"), nil
}
