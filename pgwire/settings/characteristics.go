package settings

import (
	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/sqlfuncs/pgerr"
)

// Characteristics are what SET TRANSACTION sets, as SHOW shows it.
type Characteristics struct {
	Isolation  string // read committed, ...
	ReadOnly   string // on, off
	Deferrable string // on, off
}

const (
	isolationKey  = "transaction_isolation"
	readOnlyKey   = "transaction_read_only"
	deferrableKey = "transaction_deferrable"
)

func isCharacteristic(p *parameter) bool {
	return p.key == isolationKey || p.key == readOnlyKey || p.key == deferrableKey
}

// Characteristics of the open transaction, to be handed to BeginWith after a COMMIT AND CHAIN.
func (s *Set) Characteristics() Characteristics {
	c := s.characteristics
	s.ifSet(isolationKey, &c.Isolation)
	s.ifSet(readOnlyKey, &c.ReadOnly)
	s.ifSet(deferrableKey, &c.Deferrable)
	return c
}

func (s *Set) ifSet(key string, text *string) {
	if e := s.entries[key]; e != nil {
		*text = e.current.text
	}
}

// Queried is to be called when a statement that needs a snapshot runs (a SELECT is one,
// SET and SHOW are not): from then on SET TRANSACTION is refused.
func (s *Set) Queried() { s.queried = s.level > 0 }

// dropCharacteristics: whatever was set, the next transaction starts from the default_ parameters.
func (s *Set) dropCharacteristics() {
	if s.entries != nil {
		delete(s.entries, isolationKey)
		delete(s.entries, readOnlyKey)
		delete(s.entries, deferrableKey)
	}
}

func (s *Set) readOnly() string {
	if e := s.entries[readOnlyKey]; e != nil {
		return e.current.text
	}
	return s.characteristics.ReadOnly
}

// restoreReadOnly: a savepoint's end restores transaction_read_only, RELEASE too, beside the rules for all parameters.
func (s *Set) restoreReadOnly(level int) {
	if level < 2 {
		return
	}
	if e := s.entries[readOnlyKey]; e != nil {
		s.assign(e, value{s.readOnlyBefore[level-2], e.current.explicit})
	}
}

func checkIsolation(s *Set, _ *parameter, v string) (string, error) {
	switch {
	case v == s.Characteristics().Isolation:
		return v, nil
	case s.queried:
		return "", active("SET TRANSACTION ISOLATION LEVEL must be called before any query")
	case s.level > 1:
		return "", active("SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction")
	}
	return v, nil
}

func checkReadOnly(s *Set, _ *parameter, v string) (string, error) {
	switch {
	case v == "on" || s.readOnly() == "off":
		return v, nil
	case s.level > 1:
		return "", active("cannot set transaction read-write mode inside a read-only transaction")
	case s.queried:
		return "", active("transaction read-write mode must be set before any query")
	}
	return v, nil
}

func checkDeferrable(s *Set, _ *parameter, v string) (string, error) {
	switch {
	case s.level > 1:
		return "", active("SET TRANSACTION [NOT] DEFERRABLE cannot be called within a subtransaction")
	case s.queried:
		return "", active("SET TRANSACTION [NOT] DEFERRABLE must be called before any query")
	}
	return v, nil
}

func active(message string) error {
	return pgerr.Newf(codes.ActiveSQLTransaction, "%s", message)
}
