package identity

import (
	"bytes"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/sqlfuncs/pgerr"
)

// CertMap says which users a certificate may log in as, by its names. Without one, the
// common name of the subject is the user. It does not change and is safe for
// concurrent use.
type CertMap struct {
	users map[string]map[string]bool // by the certificate's name
}

// LoadCertMap reads a file of a certificate's name and a user on each line:
//
//	"CN=orders" "orders"
//	"DNS=orders.example" "orders"
//	"EMAIL=alice@example" "alice"
//	"URI=spiffe://example/reports" "reports"
//
// The form of a line is that of a users file. The error joins one *FileError for every
// wrong line.
func LoadCertMap(path string) (*CertMap, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return ParseCertMap(path, text)
}

// ParseCertMap reads the text of such a file. path only serves in messages.
func ParseCertMap(path string, text []byte) (*CertMap, error) {
	m := &CertMap{users: map[string]map[string]bool{}}
	var problems []error
	number := 0
	for line := range strings.SplitSeq(string(bytes.TrimPrefix(text, []byte("\uFEFF"))), "\n") {
		number++
		if err := m.add(line); err != nil {
			problems = append(problems, &FileError{Path: path, Line: number, Problem: err.Error()})
		}
	}
	return m, errors.Join(problems...)
}

func (m *CertMap) add(line string) error {
	fields, err := splitFields(line)
	if err != nil || len(fields) == 0 {
		return err
	}
	if len(fields) != 2 {
		return errors.New("expected the certificate's name and the user, in double quotes")
	}
	kind, name, ok := strings.Cut(fields[0], "=")
	if !ok || name == "" || !strings.Contains(" CN DNS EMAIL URI ", " "+kind+" ") {
		return fmt.Errorf("%q is not CN=…, DNS=…, EMAIL=… or URI=…", fields[0])
	}
	if err := checkName(fields[1]); err != nil {
		return err
	}
	if m.users[fields[0]] == nil {
		m.users[fields[0]] = map[string]bool{}
	}
	m.users[fields[0]][fields[1]] = true
	return nil
}

// allows says whether a certificate may log in as user.
func (m *CertMap) allows(cert *x509.Certificate, user string) bool {
	if m == nil {
		return cert.Subject.CommonName == user
	}
	for _, name := range certNames(cert) {
		if m.users[name][user] {
			return true
		}
	}
	return false
}

// certNames are the names in a certificate, in the form of a CertMap.
func certNames(cert *x509.Certificate) []string {
	names := []string{"CN=" + cert.Subject.CommonName}
	for _, name := range cert.DNSNames {
		names = append(names, "DNS="+name)
	}
	for _, name := range cert.EmailAddresses {
		names = append(names, "EMAIL="+name)
	}
	for _, name := range cert.URIs {
		names = append(names, "URI="+name.String())
	}
	return names
}

// commonNames counts them.
func commonNames(cert *x509.Certificate) (n int) {
	for _, name := range cert.Subject.Names {
		if name.Type.Equal(commonNameType) {
			n++
		}
	}
	return n
}

var commonNameType = asn1.ObjectIdentifier{2, 5, 4, 3}

// checkCert lets in clients that have shown a certificate for this user. The hand-shake has
// verified that it is theirs.
func (x *Exchange) checkCert() (Step, error) {
	if x.channel.Client == nil {
		return Step{}, pgerr.Fatalf(codes.InvalidAuthorizationSpecification, "connection requires a valid client certificate")
	}
	if n := commonNames(x.channel.Client); n > 1 {
		// The last to some, the first to others (PostgreSQL among them): so whose it is
		// cannot be said.
		e := pgerr.Fatalf(codes.InvalidAuthorizationSpecification, "certificate authentication failed for user \"%s\"", x.id.User)
		e.Cause = fmt.Errorf("the certificate has %d common names", n)
		return Step{}, e
	}
	if !x.certMap.allows(x.channel.Client, x.id.User) {
		e := pgerr.Fatalf(codes.InvalidAuthorizationSpecification, "certificate authentication failed for user \"%s\"", x.id.User)
		e.Cause = fmt.Errorf("the certificate is that of %s", strings.Join(certNames(x.channel.Client), ", "))
		return Step{}, e
	}
	return x.acceptAfter()
}
