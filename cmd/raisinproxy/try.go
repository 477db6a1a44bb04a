package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"raisinproxy/internal/identity"
	"raisinproxy/pgwire/upstream"
)

// This file tries at start, and for --check-config, what a client would run into later.

// tryTimeout bounds it: an upstream may accept and never answer.
const tryTimeout = 5 * time.Second

// try asks the upstream. Problems are what clients will run into; that the upstream is away
// may be over when they come, so they do not keep the server from starting.
func (c *Config) try(ctx context.Context) (problems []problem, warnings []string) {
	if c.Behind == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	role := ""
	if c.Asked != nil {
		role = c.Upstream.AuthUser
	}
	can, err := c.Behind.Try(ctx, c.Upstream.AuthDatabase, role)
	if err != nil {
		return []problem{c.problemAt("upstream.url", "the upstream cannot be reached: "+err.Error())}, nil
	}
	switch {
	case can.Superuser:
		warnings = append(warnings, "[upstream] the role of the clients' sessions is a superuser: every client can read everything there, and run programs")
	case can.ActsAs && !c.Upstream.ShareAuthUser:
		problems = append(problems, c.problemAt("upstream.auth_user", "the role of the clients' sessions is a member of it, so every client could read every verifier"))
	}
	if c.Asked == nil {
		return problems, warnings
	}
	asked := identity.NewAuthQuery(c.Asked, c.Auth.AuthQuery)
	if err := errors.Join(asked.Try(ctx), asked.Close()); err != nil {
		problems = append(problems, c.problemAt("auth.auth_query", "nobody will be found by it: "+upstream.Explain(err)))
	}
	return problems, warnings
}

// problemAt is a problem with a key, at its line of the file.
func (c *Config) problemAt(key, text string) problem {
	p := problem{key: key, text: text}
	if c.source != nil {
		p.file, p.line = c.source.path, c.source.lineOf(key)
	}
	return p
}

// unusable says why this process can make no store in a folder, or open the one that is
// there; nil: nothing speaks against it.
func unusable(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return unusableParent(dir)
	case err != nil:
		return err
	}
	if err := mayUse(dir, unix.R_OK|unix.W_OK|unix.X_OK); err != nil {
		return err
	}
	for _, entry := range entries {
		if !entry.Type().IsRegular() {
			continue
		}
		if err := mayUse(filepath.Join(dir, entry.Name()), unix.R_OK|unix.W_OK); err != nil {
			return err
		}
	}
	return nil
}

// unwritable says why this process can neither write a file nor make it.
func unwritable(path string) error {
	_, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return unusableParent(path)
	case err != nil:
		return err
	}
	if err := mayUse(path, unix.R_OK|unix.W_OK); err != nil {
		return err
	}
	return mayUse(filepath.Dir(path), unix.W_OK|unix.X_OK)
}

// unusableParent says why a file or a folder cannot be made.
func unusableParent(dir string) error {
	for {
		parent := filepath.Dir(dir)
		info, err := os.Stat(parent)
		switch {
		case errors.Is(err, fs.ErrNotExist) && parent != dir:
			dir = parent
			continue
		case err != nil:
			return err
		case !info.IsDir():
			return &fs.PathError{Op: "mkdir", Path: dir, Err: unix.ENOTDIR}
		}
		return mayUse(parent, unix.W_OK|unix.X_OK)
	}
}

func mayUse(path string, how uint32) error {
	if err := unix.Faccessat(unix.AT_FDCWD, path, how, unix.AT_EACCESS); err != nil {
		return &fs.PathError{Op: "access", Path: path, Err: err}
	}
	return nil
}
