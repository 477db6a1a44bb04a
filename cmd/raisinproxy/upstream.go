package main

import (
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"raisinproxy/internal/identity"
	"raisinproxy/pgwire/settings"
	"raisinproxy/pgwire/upstream"
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
	parsed, config := k.parseUpstreamURL()
	if config == nil {
		return
	}
	up := &upstream.Server{Config: config, FixedDatabase: namesDatabase(parsed), FirstUse: u.Open == openAtFirstUse}
	switch u.User {
	case "":
	case clientUser:
		up.AsClient = true
		k.checkClientUser()
	default:
		config.User = u.User
	}
	k.checkRole("upstream.user", config.User)
	k.readPassword("upstream.password_file", u.PasswordFile, &config.Password)
	k.cfg.Behind = up
	k.checkAnonymousSQL(up)
	k.checkAuthUser(up)
	if !up.AsClient {
		k.warning("[upstream] every client works with the privileges of the upstream's user " + config.User + `; user = "$client" gives each its own`)
	}
	if k.cfg.Auth.Method == string(identity.Trust) {
		k.warning(`[auth] method = "trust" with an [upstream]: every program of this machine runs SQL there, under any name`)
	}
}

// parseUpstreamURL takes of the URL only what it says: not what the environment of this
// process says. The values may hold a password, so no message repeats them.
func (k *checker) parseUpstreamURL() (*url.URL, *pgconn.Config) {
	const path = "upstream.url"
	text := k.cfg.Upstream.URL
	parsed, err := url.Parse(text)
	if err != nil || parsed.Scheme != "postgres" && parsed.Scheme != "postgresql" || parsed.Host == "" {
		k.add(path, "must be postgres://USER@HOST:PORT/ with at least a host")
		return nil, nil
	}
	config, err := pgconn.ParseConfig(text)
	if err != nil {
		k.add(path, "is not a PostgreSQL URL that can be used")
		return nil, nil
	}
	for name := range config.RuntimeParams {
		if !parsed.Query().Has(name) {
			delete(config.RuntimeParams, name)
		}
	}
	if mentionsBranch(config.RuntimeParams) {
		k.add(path, "must not set %s: the branch is each client's own", settings.BranchParameter)
		return nil, nil
	}
	return parsed, config
}

func mentionsBranch(parameters map[string]string) bool {
	for name, value := range parameters {
		if strings.EqualFold(name, settings.BranchParameter) ||
			name == "options" && strings.Contains(strings.ToLower(value), settings.BranchParameter) {
			return true
		}
	}
	return false
}

// namesDatabase says whether a URL names the database, in one of the ways that there are.
func namesDatabase(u *url.URL) bool {
	query := u.Query()
	return strings.Trim(u.Path, "/") != "" || query.Get("dbname") != "" || query.Get("database") != ""
}

// checkClientUser: an upstream that asks for a client's password gets it only where this
// server has it in plain.
func (k *checker) checkClientUser() {
	if k.cfg.Upstream.PasswordFile != "" {
		k.add("upstream.password_file", `one password does not fit user = "$client": leave it out`)
		return
	}
	if k.cfg.Auth.Method != string(identity.Password) {
		k.warning(`[upstream] user = "$client": a client's password is passed on with [auth] method = "password" or if the users file has it in plain; ` +
			`for all others the upstream has to trust this server (pg_hba.conf) or take its certificate`)
	}
}

// checkAnonymousSQL: whoever may come without a password must not work as the role of
// everybody, unless that is said. With user = "$client" their role is `anonymous`.
func (k *checker) checkAnonymousSQL(up *upstream.Server) {
	const path = "upstream.anonymous_user"
	u, a := &k.cfg.Upstream, &k.cfg.Auth
	k.checkRole(path, u.AnonymousUser)
	k.readPassword("upstream.anonymous_password_file", u.AnonymousPasswordFile, &up.AnonymousPassword)
	switch {
	case u.AnonymousUser == "" && u.AnonymousPasswordFile != "":
		k.add("upstream.anonymous_password_file", "needs anonymous_user, whose password it has")
	case u.AnonymousUser != "" && a.AllowAnonymousSQL:
		k.add(path, "is of no use with [auth] allow_anonymous_sql = true: leave out one of the two")
	case u.AnonymousUser != "" && !up.AsClient && u.AnonymousUser == up.Config.User:
		k.add(path, "must be a role of its own, with few privileges; %s is that of everybody", u.AnonymousUser)
	case u.AnonymousUser == "" && a.AllowAnonymous && !a.AllowAnonymousSQL && !up.AsClient:
		k.add("auth.allow_anonymous", "with an [upstream], anybody could run SQL there as %s: "+
			"give [upstream] anonymous_user a role of its own, or say [auth] allow_anonymous_sql = true", up.Config.User)
	}
	up.AnonymousUser = u.AnonymousUser
}

// checkAuthUser: whoever works as the role that runs auth_query can read what it reads.
func (k *checker) checkAuthUser(up *upstream.Server) {
	const path = "upstream.auth_user"
	u := &k.cfg.Upstream
	k.checkRole(path, u.AuthUser)
	asked := upstream.Bounded(up.Config)
	asked.User, asked.Password, asked.Database = u.AuthUser, "", u.AuthDatabase
	k.readPassword("upstream.auth_password_file", u.AuthPasswordFile, &asked.Password)
	shared := !up.AsClient && u.AuthUser == up.Config.User || u.AnonymousUser == u.AuthUser
	if shared && u.AuthPasswordFile == "" {
		asked.Password = up.Config.Password
	}
	switch {
	case k.cfg.Auth.AuthQuery == "":
		for key, set := range map[string]bool{path: u.AuthUser != "", "upstream.auth_password_file": u.AuthPasswordFile != ""} {
			if set && !k.wrong(key) {
				k.add(key, "serves [auth] auth_query only, and there is none")
			}
		}
		return
	case u.AuthUser == "":
		k.add("auth.auth_query", "needs [upstream] auth_user, a role that runs it and may read the verifiers; clients must not work as that role")
		return
	case shared && !u.ShareAuthUser:
		k.add(path, "is a role that clients work as, so every client could read every verifier: "+
			"make one that only reads verifiers, or say share_auth_user = true")
		return
	case u.AuthDatabase == "":
		k.add("upstream.auth_database", `must not be empty: "postgres" is there in most servers`)
		return
	}
	k.cfg.Asked = asked
}

// checkRole notes a name that no role can have.
func (k *checker) checkRole(path, name string) {
	if len(name) > identity.MaxNameBytes && !k.wrong(path) {
		k.add(path, "has %d bytes, and the name of a role has at most %d", len(name), identity.MaxNameBytes)
	}
}

// checkAdminUsers notes names by which nobody can log in.
func (k *checker) checkAdminUsers() {
	const path = "auth.admin_users"
	if i := slices.IndexFunc(k.cfg.Auth.AdminUsers, func(name string) bool { return len(name) > identity.MaxNameBytes }); i >= 0 {
		k.add(path, "the name of item %d has %d bytes, and nobody can log in by one of more than %d",
			i+1, len(k.cfg.Auth.AdminUsers[i]), identity.MaxNameBytes)
	}
}

// readPassword reads the file that a key names, if it names one.
func (k *checker) readPassword(path, file string, password *string) {
	if file == "" || k.wrong(path) {
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		k.add(path, "cannot read it: %v", err)
		return
	}
	*password = strings.TrimRight(string(text), "\r\n")
	k.warnOfReaders(path, file)
}
