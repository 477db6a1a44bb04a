package auth

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
	users          atomic.Pointer[Users]
}

// NewPolicy makes a policy of a method that configuration may name. Under Trust
// users serves only to give names a tenant; nil is a list of nobody.
func NewPolicy(method Method, users *Users, allowAnonymous bool) (*Policy, error) {
	switch method {
	case SCRAM, Password, Trust:
	default:
		return nil, fmt.Errorf("unknown authentication method %q", method)
	}
	p := &Policy{method: method, allowAnonymous: allowAnonymous}
	p.SetUsers(users)
	return p, nil
}

// SetUsers replaces the users. Exchanges that have begun keep the old ones.
func (p *Policy) SetUsers(users *Users) {
	if users == nil {
		users = &Users{}
	}
	p.users.Store(users)
}

// Begin starts the authentication of one connection. user is the name in the
// start-up packet: the only one that counts, whatever later messages say. channel is
// what the messages go over.
func (p *Policy) Begin(user string, channel Channel) *Exchange {
	users := p.users.Load()
	x := &Exchange{id: Identity{User: user, Tenant: DefaultTenant, Method: p.method}, channel: channel}
	listed := users.byName[user]
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
	case p.method == Password && !channel.Encrypted:
		x.start = x.refuseCleartext
	case p.method == Password:
		x.cred, x.doomed = users.credential(listed, user)
		x.start = x.askPassword
	default:
		x.cred, x.doomed = users.credential(listed, user)
		x.start = x.offerSASL
	}
	return x
}
