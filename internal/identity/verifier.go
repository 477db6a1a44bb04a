package identity

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
)

// Defaults of PostgreSQL, for verifiers that are made here.
const (
	defaultIterations = 4096
	saltBytes         = 16
)

const verifierPrefix = mechanismSCRAM + "$"

// Verifier makes what a server keeps instead of password, with a random salt, in
// PostgreSQL's form:
//
//	SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>
//
// It can be put in pg_authid as it can in a users file. It fails for passwords
// that no client can send: empty, or with a NUL byte.
func Verifier(password string) (string, error) {
	switch {
	case password == "":
		return "", errors.New("the password is empty")
	case strings.ContainsRune(password, 0):
		return "", errors.New("the password has a NUL character")
	}
	salt := make([]byte, saltBytes)
	rand.Read(salt) // never fails: see crypto/rand
	k := deriveKeys(password, salt, defaultIterations)
	return fmt.Sprintf("%s%d:%s$%s:%s", verifierPrefix, defaultIterations,
		encode64(salt), encode64(k.stored[:]), encode64(k.server[:])), nil
}

// keys are what a server must know to check a proof and to prove itself.
type keys struct {
	stored, server [sha256.Size]byte
}

func deriveKeys(password string, salt []byte, iterations int) keys {
	salted, err := pbkdf2.Key(sha256.New, saslprep(password), salt, iterations, sha256.Size)
	if err != nil {
		// Only for sizes that FIPS mode refuses; these are constant or were checked.
		panic(fmt.Sprintf("pbkdf2: %v", err))
	}
	return keys{
		stored: sha256.Sum256(mac(salted, "Client Key")),
		server: [sha256.Size]byte(mac(salted, "Server Key")),
	}
}

// credential is what one exchange is checked against. It is safe for concurrent
// use.
type credential struct {
	salt       []byte // nil: the one that the policy derives from the name
	iterations int
	keysFor    func(salt []byte) *keys
}

func (c *credential) keys() *keys { return c.keysFor(c.salt) }

// salted is c with a salt, should it have none of its own.
func (c *credential) salted(salt []byte) *credential {
	if c.salt != nil {
		return c
	}
	with := *c
	with.salt = salt
	return &with
}

// verify tells whether this is the password, in a time that does not depend on
// the answer.
func (c *credential) verify(password string) bool {
	got, want := deriveKeys(password, c.salt, c.iterations), c.keys()
	return hmac.Equal(got.stored[:], want.stored[:])
}

// plaintextCredential hashes password when it is first needed: 4096 iterations take
// about a millisecond, too much to do for every line of a large file.
//
// Its salt is that of an unknown user, so that a client cannot tell them apart, and
// stays the same when the file is read again.
func plaintextCredential(password string) *credential {
	var mu sync.Mutex
	var hashedWith string
	var hashed *keys
	return &credential{
		iterations: defaultIterations,
		keysFor: func(salt []byte) *keys {
			mu.Lock()
			defer mu.Unlock()
			if hashed == nil || hashedWith != string(salt) {
				k := deriveKeys(password, salt, defaultIterations)
				hashedWith, hashed = string(salt), &k
			}
			return hashed
		},
	}
}

// mockCredential is for exchanges that must fail without showing it before the end.
func mockCredential(salt []byte, iterations int) *credential {
	return &credential{
		salt:       salt,
		iterations: iterations,
		keysFor:    func([]byte) *keys { return &keys{} },
	}
}

var errBadVerifier = errors.New("malformed SCRAM-SHA-256 verifier, " +
	"expected SCRAM-SHA-256$<iterations>:<salt>$<stored key>:<server key>")

// parseVerifier reads PostgreSQL's form of a verifier. Its error quotes no part of it.
func parseVerifier(verifier string) (*credential, error) {
	factors, keyPair, ok1 := strings.Cut(strings.TrimPrefix(verifier, verifierPrefix), "$")
	count, salt64, ok2 := strings.Cut(factors, ":")
	stored64, server64, ok3 := strings.Cut(keyPair, ":")
	if !ok1 || !ok2 || !ok3 {
		return nil, errBadVerifier
	}
	iterations, err := strconv.ParseUint(count, 10, 32)
	if err != nil || iterations < 1 || iterations > math.MaxInt32 {
		return nil, errBadVerifier
	}
	salt, ok1 := decode64(salt64)
	stored, ok2 := decode64(stored64)
	server, ok3 := decode64(server64)
	if !ok1 || !ok2 || !ok3 || len(salt) == 0 || len(stored) != sha256.Size || len(server) != sha256.Size {
		return nil, errBadVerifier
	}
	k := &keys{stored: [sha256.Size]byte(stored), server: [sha256.Size]byte(server)}
	return &credential{salt: salt, iterations: int(iterations), keysFor: func([]byte) *keys { return k }}, nil
}
