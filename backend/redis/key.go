package redis

import (
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
