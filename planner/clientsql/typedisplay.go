package clientsql

// TypeDisplay is what PostgreSQL calls a built-in type in messages (format_type), such
// as `bytea`, `smallint[]` or `time without time zone`. ok is false for an OID that is
// not the same on every server: those of the row types of views, of the information
// schema and of the user's types.
func TypeDisplay(oid uint32) (name string, ok bool) {
	t := typeByOID(oid)
	if t == nil || oid >= firstUnpinned {
		return "", false
	}
	return t.display, true
}

// firstUnpinned is the first OID that initdb gives, in an order of its own.
const firstUnpinned = 12000
