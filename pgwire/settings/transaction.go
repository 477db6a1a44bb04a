package settings

// Transactions. Each change within a transaction level first saves what the end
// of the level may have to restore; the rules are those of PostgreSQL's
// AtEOXact_GUC, explained in its src/backend/utils/misc/README.

// transaction is the state of the open transaction.
type transaction struct {
	level int // 0 none, 1 the transaction, 2 and up its savepoints
	// changed are the entries with something saved.
	changed []*entry
	// readOnlyBefore has, for each open savepoint, transaction_read_only at its start.
	readOnlyBefore []string
	// queried is set once a statement took a snapshot.
	queried bool
	// characteristics of the transaction at its start; a SET makes an entry as for any parameter.
	characteristics Characteristics
}

// saved is what one level changed in one parameter.
type saved struct {
	outer *saved
	level int
	how   how
	prior value // before the level
	// masked is the value of the SET that a SET LOCAL of the same level hides.
	masked value
}

type how uint8

const (
	bySet how = iota
	bySetLocal
	bySetThenSetLocal
)

// Begin starts a transaction, or the implicit one of a single statement or of a
// simple-query message. Within one already it does nothing: BEGIN turns an
// implicit transaction into a block and keeps what was set so far.
func (s *Set) Begin() {
	if s.level == 0 {
		s.BeginWith(s.hot.next)
	}
}

// BeginWith starts the transaction that follows COMMIT AND CHAIN or ROLLBACK AND CHAIN, which inherits c.
func (s *Set) BeginWith(c Characteristics) {
	s.level = 1
	s.characteristics = c
}

// Commit ends the transaction: SET stays, SET LOCAL is undone.
func (s *Set) Commit() { s.end(true) }

// Rollback ends the transaction and undoes every change in it. COMMIT of a failed
// transaction is a Rollback too.
func (s *Set) Rollback() { s.end(false) }

// Fail is to be called when an error aborts the transaction block: what the innermost level changed is
// undone at once, as PostgreSQL does, and reported with the ReadyForQuery that says E.
func (s *Set) Fail() {
	if s.level > 0 {
		s.unwind(s.level, false)
		s.restoreReadOnly(s.level)
	}
}

// Savepoint opens a savepoint and returns its depth: 1 for the first one of the transaction.
func (s *Set) Savepoint() (depth int) {
	s.level++
	s.readOnlyBefore = append(s.readOnlyBefore, s.readOnly())
	return s.level - 1
}

// ReleaseTo is RELEASE of the savepoint at depth, and of all within it.
func (s *Set) ReleaseTo(depth int) {
	if level := depth + 1; s.hasLevel(level) {
		s.unwind(level, true)
		s.restoreReadOnly(level)
		s.level = level - 1
		s.readOnlyBefore = s.readOnlyBefore[:level-2]
	}
}

// RollbackTo is ROLLBACK TO the savepoint at depth, which stays open.
func (s *Set) RollbackTo(depth int) {
	if level := depth + 1; s.hasLevel(level) {
		s.unwind(level, false)
		s.restoreReadOnly(level)
		s.level = level
		s.readOnlyBefore = s.readOnlyBefore[:level-1]
	}
}

// Depth is the number of open savepoints.
func (s *Set) Depth() int { return max(s.level-1, 0) }

func (s *Set) hasLevel(level int) bool { return level >= 2 && level <= s.level }

func (s *Set) end(commit bool) {
	s.unwind(1, commit)
	s.dropCharacteristics()
	s.transaction = transaction{
		characteristics: s.hot.next, // for a SHOW that is not within Begin and Commit
		changed:         s.changed,
		readOnlyBefore:  s.readOnlyBefore[:0],
	}
}

// save notes what the end of this level may have to restore, before a change.
func (s *Set) save(e *entry, local bool) {
	if sv := e.saved; sv != nil && sv.level == s.level {
		switch {
		case !local:
			sv.how, sv.masked = bySet, value{}
		case sv.how == bySet:
			sv.how, sv.masked = bySetThenSetLocal, e.current
		}
		return
	}
	if e.saved == nil {
		s.changed = append(s.changed, e)
	}
	h := bySet
	if local {
		h = bySetLocal
	}
	s.memory += entryOverhead + len(e.current.text)
	e.saved = &saved{outer: e.saved, level: s.level, how: h, prior: e.current}
}

// unwind ends the given level and all within it.
func (s *Set) unwind(level int, commit bool) {
	kept := s.changed[:0]
	for _, e := range s.changed {
		for e.saved != nil && e.saved.level >= level {
			s.pop(e, commit)
		}
		if e.saved != nil {
			kept = append(kept, e)
		}
	}
	clear(s.changed[len(kept):])
	s.changed = kept
}

// pop ends the innermost level that changed e, or makes its change one of the level around it.
func (s *Set) pop(e *entry, commit bool) {
	sv := e.saved
	if commit && sv.level > 1 {
		if outer := sv.outer; outer != nil && outer.level == sv.level-1 {
			outer.absorb(sv)
			e.saved = outer
		} else {
			sv.level--
		}
		return
	}
	e.saved = sv.outer
	switch {
	case !commit || sv.how == bySetLocal:
		s.assign(e, sv.prior)
	case sv.how == bySetThenSetLocal:
		s.assign(e, sv.masked)
	}
}

// absorb makes the changes of a released level those of the level around it, whose prior value stays.
func (sv *saved) absorb(inner *saved) {
	switch {
	case inner.how == bySet:
		sv.how, sv.masked = bySet, value{}
	case inner.how == bySetThenSetLocal:
		sv.how, sv.masked = bySetThenSetLocal, inner.masked
	case sv.how == bySet: // a SET LOCAL over a SET of the outer level
		sv.how, sv.masked = bySetThenSetLocal, inner.prior
	}
}
