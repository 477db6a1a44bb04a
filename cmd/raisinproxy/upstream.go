package main

import (
	"net/url"
	"os"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"raisinproxy/pgwire"
	"raisinproxy/pgwire/auth"
)

// clientUser as [upstream] user stands for the client's own name.
const clientUser = "$client"

// checkUpstream makes the upstream that [upstream] describes. Without the section
// there is none.
func (k *checker) checkUpstream() {
	if !k.doc.has("upstream") {
		return
	}
	u := &k.cfg.Upstream
	const path = "upstream.url"
	parsed, err := url.Parse(u.URL)
	if err != nil || parsed.Scheme != "postgres" && parsed.Scheme != "postgresql" || parsed.Host == "" {
		k.add(path, "must be postgres://USER@HOST:PORT/ with at least a host") // the value may hold a password
		return
	}
	config, err := pgconn.ParseConfig(u.URL)
	if err != nil {
		k.add(path, "is not a PostgreSQL URL that can be used")
		return
	}
	// Only what the URL says: not what the environment of this process says.
	for name := range config.RuntimeParams {
		if !parsed.Query().Has(name) {
			delete(config.RuntimeParams, name)
		}
	}
	up := &pgwire.Upstream{Config: config, FixedDatabase: strings.Trim(parsed.Path, "/") != "", FirstUse: u.Open == openAtFirstUse}
	switch u.User {
	case "":
	case clientUser:
		up.AsClient = true
		k.checkClientUser()
	default:
		config.User = u.User
	}
	k.readUpstreamPassword(config)
	k.cfg.Behind = up
	if !up.AsClient {
		k.warning("[upstream] every client works with the privileges of the upstream's user " + config.User + `; user = "$client" gives each its own`)
	}
}

// checkClientUser: an upstream that asks for a client's password gets it only where this
// server has it in plain.
func (k *checker) checkClientUser() {
	if k.cfg.Upstream.PasswordFile != "" {
		k.add("upstream.password_file", `one password does not fit user = "$client": leave it out`)
		return
	}
	if k.cfg.Auth.Method != string(auth.Password) {
		k.warning(`[upstream] user = "$client": a client's password is passed on with [auth] method = "password" or if the users file has it in plain; ` +
			`for all others the upstream has to trust this server (pg_hba.conf) or take its certificate`)
	}
}

func (k *checker) readUpstreamPassword(config *pgconn.Config) {
	const path = "upstream.password_file"
	file := k.cfg.Upstream.PasswordFile
	if file == "" || k.wrong(path) {
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		k.add(path, "cannot read it: %v", err)
		return
	}
	config.Password = strings.TrimRight(string(text), "\r\n")
	k.warnOfReaders(path, file)
}
