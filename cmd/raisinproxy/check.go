package main

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"raisinproxy/internal/identity"
)

// checker looks at what single keys cannot tell: how they go together, and the
// files that they name.
type checker struct {
	cfg        *Config
	doc        *document
	overridden map[string]string // see options.override
	problems   []problem
}

// result gives the configuration if nothing is wrong with it.
func (k *checker) result() (*Config, []problem) {
	if len(k.problems) > 0 {
		sortProblems(k.problems)
		return nil, k.problems
	}
	return k.cfg, nil
}

func (k *checker) add(path, format string, args ...any) {
	p := problem{key: k.nameOf(path), text: fmt.Sprintf(format, args...)}
	if _, ok := k.overridden[path]; !ok {
		p.file, p.line = k.doc.path, k.doc.lineOf(path)
	}
	k.problems = append(k.problems, p)
}

// nameOf is what the user wrote to set a key.
func (k *checker) nameOf(path string) string {
	if name, ok := k.overridden[path]; ok {
		return name
	}
	return path
}

// wrong tells whether a key has a problem already, so that its value says nothing.
func (k *checker) wrong(path string) bool {
	for _, p := range k.problems {
		if p.key == k.nameOf(path) {
			return true
		}
	}
	return false
}

// resolvePaths makes relative paths relative to the config file.
func (k *checker) resolvePaths(dir string) {
	c := k.cfg
	for _, path := range []*string{
		&c.PGWire.TLSCert, &c.PGWire.TLSKey, &c.PGWire.TLSClientCA,
		&c.Auth.UsersFile, &c.Auth.CertMapFile, &c.Locks.InProcess.DataDir, &c.Locks.Redis.StateFile,
		&c.Auth.SaltFile, &c.Upstream.PasswordFile, &c.Upstream.AnonymousPasswordFile, &c.Upstream.AuthPasswordFile,
	} {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(dir, *path)
		}
	}
}

// checkDataDir notes a path at which no store can be, or none that this process could open.
// Whether one is there, whole and free, the start of the server tells.
func (k *checker) checkDataDir() {
	const path = "locks.inprocess.data_dir"
	dir := k.cfg.Locks.InProcess.DataDir
	if !k.usesInProcess() || dir == "" || k.wrong(path) {
		return
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		k.add(path, "%s is not a folder", dir)
		return
	}
	if err := unusable(dir); err != nil {
		k.add(path, "cannot be used: %v", err)
	}
}

func (k *checker) usesInProcess() bool {
	return k.cfg.Locks.Enabled && k.cfg.Locks.Backend == backendInProcess
}

func (k *checker) checkBindAddress() {
	const path = "pgwire.bind_address"
	if address := k.cfg.PGWire.BindAddress; !k.wrong(path) && address != "*" && !isAddress(address) && !isHostName(address) {
		k.add(path, `must be one IP address (an IPv6 one without brackets), one host name, or "*" for every address`)
	}
}

func (k *checker) checkConnections() {
	if w := &k.cfg.PGWire; len(k.cfg.Auth.AdminUsers) > 0 && w.MaxConnections <= reservedConnections {
		k.add("pgwire.max_connections", "must be more than %d: so many are kept for auth.admin_users", reservedConnections)
	}
}

// reservedConnections is how many connections are kept for admin_users.
const reservedConnections = 3

// warn notes what is allowed but may not be meant.
func (k *checker) warn() {
	c := k.cfg
	if c.Replication.Enabled && c.Locks.Backend == backendInProcess {
		k.warning(`[replication] enabled = true says that several proxies serve these clients, but [locks] backend = "inprocess" ` +
			`gives each node locks of its own: two clients could hold one lock, and inventory would oversell. ` +
			`Use backend = "redis".`)
	}
	if k.usesInProcess() && c.Locks.InProcess.DataDir == "" {
		k.warning(`[locks.inprocess] data_dir = "" keeps locks and inventory in memory only: everything is lost at exit`)
	}
	if k.cfg.Users != nil && c.Users.Len() == 0 && c.Auth.Method != string(identity.Trust) {
		k.warning("[auth] users_file lists no user: nobody can log in with a password")
	}
}

func (k *checker) warning(text string) { k.cfg.Warnings = append(k.cfg.Warnings, text) }

// warnOfReaders notes a file with secrets that everybody on the machine can read.
func (k *checker) warnOfReaders(path, file string) {
	if info, err := os.Stat(file); err == nil && info.Mode().Perm()&0o004 != 0 {
		k.warning(fmt.Sprintf("%s: every user of this machine can read %s: chmod o= it", path, file))
	}
}

// isLoopback is certain only for addresses and for the one name that RFC 6761
// reserves; other names may change what they mean.
func isLoopback(address string) bool {
	if ip, err := netip.ParseAddr(address); err == nil {
		return ip.Unmap().IsLoopback()
	}
	return strings.EqualFold(address, "localhost")
}

func isAddress(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil
}

// isHostName follows RFC 1123, with the underscore that container names use. A name
// of digits and dots is a mistyped address.
func isHostName(s string) bool {
	if len(s) > 253 || strings.Trim(s, "0123456789.") == "" {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		const allowed = "abcdefghijklmnopqrstuvwxyz0123456789-_"
		if label == "" || len(label) > 63 || label[0] == '-' || strings.Trim(strings.ToLower(label), allowed) != "" {
			return false
		}
	}
	return true
}
