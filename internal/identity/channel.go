package identity

import (
	"crypto"
	_ "crypto/sha256" // crypto.SHA256
	_ "crypto/sha512" // crypto.SHA384 and SHA512
	"crypto/x509"
)

// Channel is the connection that an exchange runs over. The zero value is one
// without TLS.
type Channel struct {
	Encrypted bool
	// EndPoint binds an exchange to the channel; see EndPoint. nil: it cannot be
	// bound, and SCRAM-SHA-256-PLUS is not offered.
	EndPoint []byte
	// Client is the client's certificate, which was verified; nil: it has shown none.
	Client *x509.Certificate
}

// EndPoint is the channel binding tls-server-end-point (RFC 5929): a hash of the
// server's certificate, by the hash function that its signature uses, or SHA-256 in
// place of MD5 and SHA-1. It is nil for signatures without one, such as Ed25519.
func EndPoint(cert *x509.Certificate) []byte {
	hash, ok := endPointHashes[cert.SignatureAlgorithm]
	if !ok {
		return nil
	}
	h := hash.New()
	h.Write(cert.Raw)
	return h.Sum(nil)
}

var endPointHashes = map[x509.SignatureAlgorithm]crypto.Hash{
	x509.MD5WithRSA:       crypto.SHA256,
	x509.SHA1WithRSA:      crypto.SHA256,
	x509.ECDSAWithSHA1:    crypto.SHA256,
	x509.SHA256WithRSA:    crypto.SHA256,
	x509.SHA256WithRSAPSS: crypto.SHA256,
	x509.ECDSAWithSHA256:  crypto.SHA256,
	x509.SHA384WithRSA:    crypto.SHA384,
	x509.SHA384WithRSAPSS: crypto.SHA384,
	x509.ECDSAWithSHA384:  crypto.SHA384,
	x509.SHA512WithRSA:    crypto.SHA512,
	x509.SHA512WithRSAPSS: crypto.SHA512,
	x509.ECDSAWithSHA512:  crypto.SHA512,
}
