package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"raisinproxy/internal/identity"
	"raisinproxy/pgwire/login"
)

// This file is about what tells who is who: the server's certificate, and how clients
// show who they are.

func (k *checker) checkTLS() {
	w := &k.cfg.PGWire
	switch {
	case w.TLSCert == "" && w.TLSKey == "":
		if w.RequireTLS {
			k.add("pgwire.require_tls", "needs tls_cert and tls_key")
		}
		if w.TLSClientCA != "" {
			k.add("pgwire.tls_client_ca", "needs tls_cert and tls_key")
		}
	case w.TLSCert == "":
		k.add("pgwire.tls_key", "needs tls_cert: set both or none")
	case w.TLSKey == "":
		k.add("pgwire.tls_cert", "needs tls_key: set both or none")
	default:
		k.loadTLS()
	}
}

func (k *checker) loadTLS() {
	w := &k.cfg.PGWire
	config, problems := loadTLS(w)
	for _, p := range problems {
		k.add(p.key, "%s", p.text)
	}
	if config == nil {
		return
	}
	if end := config.Certificates[0].Leaf.NotAfter; time.Now().After(end) {
		k.warning("[pgwire] tls_cert expired on " + end.Format(time.DateOnly) + ": clients that verify it will refuse to connect")
	}
	k.warnOfReaders("pgwire.tls_key", w.TLSKey)
	k.cfg.TLS = config
}

// loadTLS reads the files of TLS. Without problems there is a configuration.
func loadTLS(w *PGWireConfig) (*tls.Config, []problem) {
	var problems []problem
	wrong := func(key, format string, args ...any) {
		problems = append(problems, problem{key: key, text: fmt.Sprintf(format, args...)})
	}
	read := func(key, path string) []byte {
		text, err := os.ReadFile(path)
		if err != nil {
			wrong(key, "cannot read it: %v", err)
		}
		return text
	}
	cert, secret := read("pgwire.tls_cert", w.TLSCert), read("pgwire.tls_key", w.TLSKey)
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{login.ALPN}}
	if w.TLSClientCA != "" {
		config.ClientCAs = x509.NewCertPool()
		// Who has none may log in by another method's rules.
		config.ClientAuth = tls.VerifyClientCertIfGiven
		if ca := read("pgwire.tls_client_ca", w.TLSClientCA); ca != nil && !config.ClientCAs.AppendCertsFromPEM(ca) {
			wrong("pgwire.tls_client_ca", "has no certificate in PEM form")
		}
	}
	if cert == nil || secret == nil {
		return nil, problems
	}
	if !x509.NewCertPool().AppendCertsFromPEM(cert) {
		wrong("pgwire.tls_cert", "has no certificate in PEM form")
		return nil, problems
	}
	pair, err := tls.X509KeyPair(cert, secret)
	if err != nil {
		wrong("pgwire.tls_key", "does not serve with the certificate of tls_cert: %v", err)
	}
	if problems != nil {
		return nil, problems
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}

func (k *checker) checkAuth() {
	c := k.cfg
	switch {
	case k.wrong("auth.method"):
	case c.Auth.Method == string(identity.Trust) && !k.wrong("pgwire.bind_address") && !isLoopback(c.PGWire.BindAddress):
		k.add("auth.method", `"trust" lets everybody in, so it needs a loopback address such as 127.0.0.1; %s is %q`,
			k.nameOf("pgwire.bind_address"), c.PGWire.BindAddress)
	case c.Auth.Method == string(identity.Password) && !c.PGWire.RequireTLS:
		k.add("auth.method", `"password" sends passwords in clear text, so it needs [pgwire] require_tls = true`)
	case c.Auth.Method == string(identity.Cert) && c.PGWire.TLSClientCA == "":
		k.add("auth.method", `"cert" needs [pgwire] tls_client_ca, which vouches for the clients' certificates`)
	}
	if c.Auth.SaltFile != "" {
		k.checkSaltFile()
	}
	if c.Auth.CertMapFile != "" {
		k.checkCertMap()
	}
	if c.Auth.AuthQuery != "" {
		k.checkAuthQuery()
	}
}

// checkSaltFile: it is made at the start if it is not there.
func (k *checker) checkSaltFile() {
	const path = "auth.salt_file"
	if k.cfg.Auth.Method != string(identity.SCRAM) {
		k.add(path, `serves method = "scram-sha-256" only`)
		return
	}
	if err := unwritable(k.cfg.Auth.SaltFile); err != nil {
		k.add(path, "cannot be kept: %v", err)
	}
}

func (k *checker) checkCertMap() {
	const path = "auth.cert_map_file"
	if k.cfg.Auth.Method != string(identity.Cert) {
		k.add(path, `serves method = "cert" only`)
		return
	}
	certMap, err := identity.LoadCertMap(k.cfg.Auth.CertMapFile)
	if err != nil {
		k.addLines(path, err)
		return
	}
	k.cfg.CertMap = certMap
}

func (k *checker) checkAuthQuery() {
	const path = "auth.auth_query"
	switch method := k.cfg.Auth.Method; {
	case !k.doc.has("upstream"):
		k.add(path, "needs an [upstream], which it asks")
	case method != string(identity.SCRAM) && method != string(identity.Password):
		k.add(path, `serves method = "scram-sha-256" and "password" only`)
	}
}

// checkUsers loads the users file. Under trust, under cert and beside auth_query there
// need be none; one that is named gives users their tenants.
func (k *checker) checkUsers() {
	const path = "auth.users_file"
	a := &k.cfg.Auth
	optional := a.Method == string(identity.Trust) || a.Method == string(identity.Cert) || a.AuthQuery != ""
	switch {
	case k.wrong(path), k.wrong("auth.method"):
		return
	case optional && (a.UsersFile == "" || !k.doc.has(path)):
		a.UsersFile = ""
		return
	case a.UsersFile == "":
		k.add(path, "%q needs one: make its lines with `raisinproxy passwd USER`", a.Method)
		return
	}
	users, err := identity.LoadUsers(a.UsersFile)
	switch {
	case err == nil:
		k.cfg.Users = users
		k.warnOfReaders(path, a.UsersFile)
	case errors.Is(err, fs.ErrNotExist):
		k.add(path, "%s does not exist: make its lines with `raisinproxy passwd USER`", a.UsersFile)
	default:
		k.addLines(path, err)
	}
}

// addLines notes what is wrong with the lines of a file, or that it cannot be read.
func (k *checker) addLines(path string, err error) {
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		k.add(path, "cannot read it: %v", err)
		return
	}
	for _, line := range joined.Unwrap() {
		k.add(path, "%v", line)
	}
}
