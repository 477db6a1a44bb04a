package backendtest

import (
	"strings"
	"testing"

	"raisinproxy/backend"
)

var nameCases = []testCase{
	{"every name is itself, never cut, folded or merged", namesAreThemselves},
	{"every field of the scope keeps keys apart", scopesKeepKeysApart},
	{"every field of the scope keeps pools apart", scopesKeepPoolsApart},
	{"no choice of names makes two scopes collide", namesNeverCollide},
	{"a key and a pool of one name are strangers", keyAndPoolAreStrangers},
}

// trickyNames are all different. Each has been one with another in some system.
func trickyNames() []string {
	long := strings.Repeat("x", backend.MaxNameBytes-1)
	return []string{
		"a", "A", " a", "a ", "a\t", "a\n", "a\r\n", "\na", "aa", " ", "  ", "\t", "\n", "\x01", "\x7f",
		"0", "00", "1", "01", "1.0", "1e0", "-1", "null", "NULL", "nil", "true",
		":", "::", "a:", ":a", "a:b", "a/b", "a//b", "a\\b", "a\\\\b", ".", "..", "a.b", "a|b", "a,b", "a;b",
		"{", "}", "{}", "{a}", "a{b}", "{a}b", "}{", "{{a}}", "[a]", "*", "?", "a*", "%", "%%", "%s", "%25", "%7B", "_",
		"'", "\"", "`", "$1", "--", "\\x61", "\\u0061", "raisin:locks", "lock:a", "pool:a",
		"\u00e9", "e\u0301", "\u00c9", "E\u0301", "\ufb00", "ff", "\u00df", "ss", "\u1e9e", "SS",
		"\u0131", "\u0130", "i", "I", "\u212a", "k", "K", "\u2126", "\u03a9", "\uff41", "\u0430",
		"\u00a0", "\u200b", "a\u200b", "\ufeff", "\ufeffa", "\u202ea", "\u2028",
		"😀", "😁", "👩‍🚀", "👩🚀", "👩", "👍", "👍🏽", "❤", "❤️", "🇩🇪", "𝕒",
		long, long + "x", long + "y", long[1:], "y" + long, strings.Repeat("é", backend.MaxNameBytes/2),
		strings.Repeat("😀", backend.MaxNameBytes/4), strings.Repeat("{", backend.MaxNameBytes),
		strings.Repeat("%", backend.MaxNameBytes), strings.Repeat(" ", backend.MaxNameBytes),
	}
}

// namesAreThemselves, and scopesKeepKeysApart after it, try the tokens of other
// keys where they differ: tokens need to be different within a key only.
func namesAreThemselves(t testing.TB, s *store) {
	names := trickyNames()
	tokens := make(map[string]int64)
	for i, name := range names {
		if _, twice := tokens[name]; twice {
			t.Fatalf("the suite names %q twice", name)
		}
		tokens[name] = s.mustAcquire(name, s.units(10_000))
		s.mustClaim(name, 1, int64(i)+1, int64(i))
	}
	for i, name := range names {
		s.mustBeHeld(name)
		if other := tokens[names[(i+1)%len(names)]]; other != tokens[name] {
			s.mustNotRelease(name, other)
		}
		s.mustRelease(name, tokens[name])
		s.mustRestock(name, 1, int64(i)+1)
	}
	for _, name := range names { // a release freed its own key only
		s.mustNotRenew(name, tokens[name], s.unit)
		s.mustAcquire(name, s.unit)
	}
}

// nearScopes differ from one another in as little as can be.
var nearScopes = []backend.Scope{
	{Tenant: "default", Repository: "shop", Branch: "main"},
	{Tenant: "Default", Repository: "shop", Branch: "main"},
	{Tenant: "other", Repository: "shop", Branch: "main"},
	{Tenant: "default", Repository: "shop2", Branch: "main"},
	{Tenant: "default", Repository: "SHOP", Branch: "main"},
	{Tenant: "default", Repository: "shop", Branch: "main "},
	{Tenant: "default", Repository: "shop", Branch: "feature/x"},
	{Tenant: "default", Repository: "shop", Branch: "caf\u00e9"},
	{Tenant: "default", Repository: "shop", Branch: "cafe\u0301"},
	{Tenant: "default", Repository: "main", Branch: "shop"},
	{Tenant: "shop", Repository: "default", Branch: "main"},
}

func scopesKeepKeysApart(_ testing.TB, s *store) {
	tokens := make([]int64, len(nearScopes))
	for i, scope := range nearScopes {
		tokens[i] = s.in(scope).mustAcquire("k", s.units(1000))
	}
	for i, scope := range nearScopes {
		in := s.in(scope)
		in.mustBeHeld("k")
		for j := range tokens {
			if tokens[j] != tokens[i] {
				in.mustNotRenew("k", tokens[j], s.unit)
				in.mustNotRelease("k", tokens[j])
			}
		}
		in.mustRelease("k", tokens[i])
	}
}

func scopesKeepPoolsApart(t testing.TB, s *store) {
	for i, scope := range nearScopes {
		s.in(scope).mustClaim("p", 1, int64(i)+1, int64(i))
	}
	for i, scope := range nearScopes {
		if got := s.in(scope).remaining("p"); got != int64(i) {
			t.Errorf("%+v: %d remain, want %d", scope, got, i)
		}
	}
}

// namesNeverCollide puts every choice of a few parts into every field. Written
// one after the other, with whatever between them, many of these are the same.
func namesNeverCollide(_ testing.TB, s *store) {
	parts := []string{"", "a", "aa", "a:", ":a", "\x01a", "}{"}
	names := parts[1:] // a name has at least one byte
	var capacity int64
	for _, tenant := range parts {
		for _, repository := range parts {
			for _, branch := range parts {
				in := s.in(backend.Scope{Tenant: tenant, Repository: repository, Branch: branch})
				for _, name := range names {
					in.mustAcquire(name, s.units(100_000))
					capacity++
					in.mustClaim(name, 1, capacity, capacity-1)
				}
			}
		}
	}
}

func keyAndPoolAreStrangers(_ testing.TB, s *store) {
	token := s.mustAcquire("x", s.units(1000))
	s.mustClaim("x", 1, 10, 9)
	s.mustBeHeld("x")
	s.mustRelease("x", token)
	s.mustClaim("x", 1, 10, 8)
	token = s.mustAcquire("x", s.units(1000))
	s.mustRestock("x", 1, 9)
	s.mustRenew("x", token, s.units(2000))
}
