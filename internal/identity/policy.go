package identity

import (
	"fmt"
	"sync/atomic"
)

// Method is how a connection shows who it is.
type Method string

// The methods. All but Anonymous are values of the configuration.
const (
	SCRAM    Method = "scram-sha-256"
	Password Method = "password" // cleartext, hence over TLS only
	Cert     Method = "cert"     // a client certificate, over TLS
	Trust    Method = "trust"    // whatever name the client gives
	// Anonymous is the method of an Identity that was let in without a password
	// under AnonymousUser, because the policy allows it.
	Anonymous Method = "anonymous"
)

// AnonymousUser is the one name that a policy may let in without a password.
const AnonymousUser = "anonymous"

// Identity is who a client is. What a name may do is not decided here: user
// AnonymousUser is refused every lock elsewhere, whatever its Method.
type Identity struct {
	User   string
	Tenant string
	Method Method
	// Password is the client's, if the exchange or the users file has it in plain: it
	// opens an upstream that knows the client by the same one.
	Password Secret
}

// Secret is a password in plain. No way of printing it, or what holds it, shows more than
// an address. The zero value is no password.
type Secret struct{ text *string }

// newSecret keeps a password as it is hashed: not every client library that passes it on
// prepares it as PostgreSQL does.
func newSecret(password string) Secret {
	prepared := saslprep(password)
	return Secret{&prepared}
}

// Reveal is the password; "" if there is none.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// Policy says what is asked of a client. It is safe for concurrent use.
type Policy struct {
	method         Method
	allowAnonymous bool
	certMap        *CertMap
	salts          saltSecret
	users          atomic.Pointer[Users]
}

// PolicyOptions are what a Policy is made of.
type PolicyOptions struct {
	Method Method // one that configuration may name
	// Users are who may log in, and with what. Under Trust and Cert they serve only to
	// give names a tenant; nil is a list of nobody.
	Users *Users
	// AllowAnonymous lets in AnonymousUser without a password.
	AllowAnonymous bool
	// CertMap says whose a certificate is under Cert; nil: that of its common name.
	CertMap *CertMap
	// SaltSecret makes the salts of names without a verifier; see LoadSaltSecret. Without
	// it they are others with each Policy.
	SaltSecret []byte
}

// NewPolicy makes a policy.
func NewPolicy(o PolicyOptions) (*Policy, error) {
	switch o.Method {
	case SCRAM, Password, Cert, Trust:
	default:
		return nil, fmt.Errorf("unknown authentication method %q", o.Method)
	}
	p := &Policy{method: o.Method, allowAnonymous: o.AllowAnonymous, certMap: o.CertMap, salts: o.SaltSecret}
	if len(p.salts) == 0 {
		p.salts = newSaltSecret()
	}
	p.SetUsers(o.Users)
	return p, nil
}

// SetUsers replaces the users. Exchanges that have begun keep the old ones.
func (p *Policy) SetUsers(users *Users) {
	if users == nil {
		users = &Users{}
	}
	p.users.Store(users)
}

// Asks says whether a client that logs in as user needs a secret that is on no line of
// the users file: it may be looked up elsewhere then, and given to Begin.
func (p *Policy) Asks(user string) bool {
	_, listed := p.users.Load().Lookup(user)
	return !listed && (p.method == SCRAM || p.method == Password) && (user != AnonymousUser || !p.allowAnonymous)
}

// Begin starts the authentication of one connection. user is the name in the
// start-up packet: the only one that counts, whatever later messages say. channel is
// what the messages go over. found is the user where the users file has none; nil: nobody
// has.
func (p *Policy) Begin(user string, channel Channel, found *User) *Exchange {
	users := p.users.Load()
	x := &Exchange{id: Identity{User: user, Tenant: DefaultTenant, Method: p.method}, channel: channel, certMap: p.certMap}
	listed := users.byName[user]
	if listed == nil {
		listed = found
	}
	if listed != nil {
		x.id.Tenant = listed.Tenant
		x.id.Password = listed.password
	}
	switch {
	case p.method == Trust:
		x.start = x.accept
	case p.allowAnonymous && user == AnonymousUser:
		x.id.Method = Anonymous
		x.start = x.accept
	case p.method == Cert:
		x.start, x.decides = x.checkCert, true
	case p.method == Password && !channel.Encrypted:
		x.start = x.refuseCleartext
	case p.method == Password:
		x.cred, x.doomed = users.credential(listed, user, p.salts)
		x.start = x.askPassword
	default:
		x.cred, x.doomed = users.credential(listed, user, p.salts)
		x.start = x.offerSASL
	}
	return x
}
