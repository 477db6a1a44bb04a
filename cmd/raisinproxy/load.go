package main

import (
	"path/filepath"

	"raisinproxy/internal/identity"
)

// load makes the configuration that o asks for, or all problems with it.
func load(o *options) (*Config, []problem) {
	devMode, wrong := o.isDevMode()
	switch {
	case wrong != nil:
		return nil, []problem{*wrong}
	case devMode:
		return loadDevMode(o)
	case o.config.given():
		return loadFile(o)
	}
	return nil, []problem{{text: "say --config FILE, or --dev-mode to try it without one"}}
}

// loadDevMode needs no file and takes none.
func loadDevMode(o *options) (*Config, []problem) {
	c := defaultConfig()
	c.DevMode = true
	c.Auth.Method = string(identity.Trust)
	c.Auth.UsersFile = ""
	c.Auth.AllowAnonymous = true
	c.Locks.Enabled = true
	c.Locks.InProcess.DataDir = ""
	overridden, problems := o.override(c)
	k := &checker{cfg: c, doc: &document{}, overridden: overridden, problems: problems}
	if o.config.given() {
		k.problems = append(k.problems, problem{key: o.config.name,
			text: "dev mode takes no config file: leave out one of the two (" + o.devMode.name + " turns dev mode on)"})
	}
	k.checkBindAddress()
	if !isLoopback(c.PGWire.BindAddress) {
		k.add("pgwire.bind_address", "dev mode lets everybody in without a password, so it listens on loopback only; "+
			"use 127.0.0.1, or a config file to serve others")
	}
	return k.result()
}

// loadFile reads and checks the config file, with flags and environment over it.
func loadFile(o *options) (*Config, []problem) {
	c := defaultConfig()
	doc, syntax := readDocument(o.config.value)
	problems := doc.apply(c.keys())
	overridden, wrong := o.override(c)
	k := &checker{cfg: c, doc: doc, overridden: overridden, problems: append(problems, wrong...)}
	if syntax != nil {
		// What follows the error is unknown: what a key needs may be there.
		k.problems = append(k.problems, *syntax)
		return k.result()
	}
	c.source = doc
	k.resolvePaths(filepath.Dir(doc.path))
	k.checkBindAddress()
	k.checkConnections()
	k.checkAdminUsers()
	k.checkTLS()
	k.checkAuth()
	k.checkUsers()
	k.checkDataDir()
	k.checkUpstream()
	k.checkRedis()
	k.warn()
	return k.result()
}
