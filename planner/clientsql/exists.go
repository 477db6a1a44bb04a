package clientsql

// HasType says whether PostgreSQL has a built-in type of that name in pg_catalog.
func HasType(name string) bool { return typeByName("pg_catalog", name) != nil }
