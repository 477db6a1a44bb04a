package redis

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"raisinproxy/backend"
)

// Kinds of keys.
const (
	lockKind = "lock"
	poolKind = "pool"
)

// keyOf is the name of a lock or a pool in Redis: namespace:kind:{tenant:repository:branch:name}.
// The braces make the part between them choose the slot in a Cluster. Within a part
// every byte that could end it, or end the braces, is escaped, so two different names
// never give one key and none gives a key outside the name space.
func keyOf(namespace, kind string, scope backend.Scope, name string) string {
	var b strings.Builder
	b.Grow(len(namespace) + len(kind) + len(scope.Tenant) + len(scope.Repository) + len(scope.Branch) + len(name) + 16)
	b.WriteString(namespace)
	b.WriteByte(':')
	b.WriteString(kind)
	b.WriteString(":{")
	for i, part := range [...]string{scope.Tenant, scope.Repository, scope.Branch, name} {
		if i > 0 {
			b.WriteByte(':')
		}
		escape(&b, part)
	}
	b.WriteByte('}')
	return b.String()
}

// tenantKey is the hash with the names of a tenant's pools, and nameInTenant one of them.
func tenantKey(namespace, tenant string) string {
	var b strings.Builder
	b.WriteString(namespace)
	b.WriteString(":pools:{")
	escape(&b, tenant)
	b.WriteByte('}')
	return b.String()
}

func nameInTenant(scope backend.Scope, name string) string {
	var b strings.Builder
	for i, part := range [...]string{scope.Repository, scope.Branch, name} {
		if i > 0 {
			b.WriteByte(':')
		}
		escape(&b, part)
	}
	return b.String()
}

// idKey is the id record of a name space. No lock and no pool has this name.
func idKey(namespace string) string { return namespace + ":id" }

// beatKey is a beat: of each master the one with the first number whose slot it has.
func beatKey(namespace string, number int) string {
	return namespace + ":beat:{" + strconv.Itoa(number) + "}"
}

// beatPrefix is how every beat's key begins.
func beatPrefix(namespace string) string { return namespace + ":beat:{" }

// splitKey takes a key apart that keyOf has made.
func splitKey(namespace, key string) (kind string, scope backend.Scope, name string, err error) {
	rest, ok := strings.CutPrefix(key, namespace+":")
	kind, inner, ok2 := strings.Cut(rest, ":{")
	inner, ok3 := strings.CutSuffix(inner, "}")
	parts := strings.Split(inner, ":")
	if !ok || !ok2 || !ok3 || len(parts) != 4 {
		return "", scope, "", fmt.Errorf("the key %q is none that a proxy makes: rename or delete it", key)
	}
	for i := range parts {
		if parts[i], err = unescape(parts[i]); err != nil {
			return "", scope, "", fmt.Errorf("the key %q is none that a proxy makes: rename or delete it", key)
		}
	}
	scope = backend.Scope{Tenant: parts[0], Repository: parts[1], Branch: parts[2]}
	if keyOf(namespace, kind, scope, parts[3]) != key {
		return "", scope, "", fmt.Errorf("the key %q is none that a proxy makes: rename or delete it", key)
	}
	return kind, scope, parts[3], nil
}

// unescape is the opposite of escape.
func unescape(text string) (string, error) { return url.PathUnescape(text) }

// escape writes part with the bytes that mean something in a key, and those that
// make one hard to type, as %XX.
func escape(b *strings.Builder, part string) {
	const hex = "0123456789ABCDEF"
	plain := 0
	for i := range len(part) {
		if c := part[i]; c <= ' ' || c == 0x7f || c == '%' || c == ':' || c == '{' || c == '}' {
			b.WriteString(part[plain:i])
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
			plain = i + 1
		}
	}
	b.WriteString(part[plain:])
}
