package identity

import "testing"

// The cost that is put off until a plaintext entry is first used.
func BenchmarkPlaintextFirstUse(b *testing.B) {
	for b.Loop() {
		plaintextCredential("secret").salted(newSaltSecret()).keys()
	}
}

// What a flood of log-ins with invented names costs, each up to the challenge.
func BenchmarkUnknownUserChallenge(b *testing.B) {
	p := policy(b, SCRAM, someUsers, false)
	body := initialResponse(mechanismSCRAM, "n,,n=,r=abc")
	for b.Loop() {
		x := p.Begin("mallory", Channel{}, nil)
		start(b, x)
		if _, err := x.Respond('p', body); err != nil {
			b.Fatal(err)
		}
	}
}
