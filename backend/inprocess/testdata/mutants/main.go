// Command mutants tests the tests: it breaks the store in ways that somebody
// might, one at a time, and fails if the tests of the package do not notice. The
// sources stay as they are; the go tool is given each change as an overlay. Run
// it from anywhere in the module:
//
//	go run ./backend/inprocess/testdata/mutants [part of a name]
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

const pkg = "raisinproxy/backend/inprocess"

// A mutant is one fault: in file, every from becomes to. Without a file it is none.
type mutant struct {
	name     string
	file     string
	from, to string
}

var mutants = []mutant{
	{"expiry off by one", "lease.go", "return now < l.deadline", "return now <= l.deadline"},
	{"expiry only by the reaper", "lease.go", "if l != nil && l.live(now) {", "if l != nil {"},
	{"acquire takes a live lease over", "lease.go", "if l != nil && l.live(now) {", "if l != nil && !l.live(now) {"},
	{"refused acquire tells the token", "lease.go", "return backend.Grant{}, 0, sh.seen(), nil", "return backend.Grant{Token: l.token}, 0, sh.seen(), nil"},
	{"refused acquire lengthens the lease", "lease.go", "return backend.Grant{}, 0, sh.seen(), nil", "sh.expiry.postpone(l, max(l.deadline, deadline(now, ttl))); return backend.Grant{}, 0, sh.seen(), nil"},
	{"re-acquire keeps the old token", "lease.go", "l.token = token", "token = l.token"},
	{"re-acquire keeps the old deadline", "lease.go", "sh.expiry.postpone(l, end)\n\t}\n\treturn backend.Grant", "}\n\treturn backend.Grant"},
	{"acquire in two steps", "lease.go", "wall := s.clock.Wall()", "sh.mu.Unlock(); runtime.Gosched(); sh.mu.Lock(); wall := s.clock.Wall()"},
	{"end told without the ttl", "lease.go", "wall.Add(ttl)", "wall"},
	{"renew shortens", "lease.go", "end > l.deadline {", "end != l.deadline {"},
	{"renew adds to the old end", "lease.go", "if end := deadline(now, ttl);", "if end := deadline(l.deadline, ttl);"},
	{"renew revives", "lease.go", "if !l.live(now) {", "if false {"},
	{"renew without comparing", "lease.go", "if l == nil || l.token != token {\n\t\treturn false, sh.seen(), nil\n\t}\n\tnow :=", "if l == nil {\n\t\treturn false, sh.seen(), nil\n\t}\n\tnow :="},
	{"renew does nothing", "lease.go", "end > l.deadline {", "end > l.deadline && false {"},
	{"renew out of heap order", "expiry.go", "h.down(l.at, dated{end, l})", "h.put(l.at, dated{end, l})"},
	{"release without comparing", "lease.go", "if l == nil || l.token != token {\n\t\treturn false, sh.seen(), nil\n\t}\n\tif !l.live(s.clock.Boot()) {", "if l == nil || false {\n\t\treturn false, sh.seen(), nil\n\t}\n\tif !l.live(s.clock.Boot()) {"},
	{"release compares 32 bits", "lease.go", "if l == nil || l.token != token {\n\t\treturn false, sh.seen(), nil\n\t}\n\tif !l.live(s.clock.Boot()) {", "if l == nil || int32(l.token) != int32(token) {\n\t\treturn false, sh.seen(), nil\n\t}\n\tif !l.live(s.clock.Boot()) {"},
	{"release after expiry", "lease.go", "if l == nil || l.token != token {\n\t\treturn false, sh.seen(), nil\n\t}\n\tif !l.live(s.clock.Boot()) {", "if l == nil || l.token != token {\n\t\treturn false, sh.seen(), nil\n\t}\n\tif false {"},
	{"release takes any lower token", "lease.go", "if l == nil || l.token != token {\n\t\treturn false, sh.seen(), nil\n\t}\n\tif !l.live(s.clock.Boot()) {", "if l == nil || l.token < token {\n\t\treturn false, sh.seen(), nil\n\t}\n\tif !l.live(s.clock.Boot()) {"},
	{"release forgets to free", "lease.go", "sh.remove(l)", ""},
	{"wall-clock lease", "lease.go", "s.clock.Boot()", "time.Duration(s.clock.Wall().UnixNano())"},
	{"deadline overflows", "lease.go", "if ttl > math.MaxInt64-now {", "if ttl > math.MaxInt64-now && false {"},

	{"pools of a tenant not counted", "tenants.go", "t.pools[tenant] >= t.limit {", "false {"},
	{"one pool more than the limit", "tenants.go", "t.pools[tenant] >= t.limit {", "t.pools[tenant] > t.limit {"},
	{"pools counted for all tenants together", "tenants.go", "return string(key[n : n+int(length)])", "return \"\""},
	{"pools not counted again after a restart", "recovery.go", "		r.store.tenants.found(tenantOf(id))\n", ""},
	{"a refused pool is made", "pool.go", "return backend.Claimed{}, basis{}, backend.ErrTooManyPools", "sh.pools[string(id)] = &pool{remaining: capacity}; return backend.Claimed{}, basis{}, backend.ErrTooManyPools"},

	{"token = now only", "token.go", "max(last+1, micros)", "micros"},
	{"token = last + 1 only", "token.go", "max(last+1, micros)", "max(last+1, micros*0)"},
	{"token may repeat", "token.go", "max(last+1, micros)", "max(last, micros)"},
	{"token printed as a Lua number", "token.go", "max(last+1, micros)", "max(last+1, micros)/1000*1000"},
	{"token in milliseconds", "token.go", "wall.UnixMicro()", "wall.UnixMilli()"},
	{"token in nanoseconds", "token.go", "wall.UnixMicro()", "wall.UnixNano()"},
	{"token unbounded", "token.go", "if token >= backend.MaxToken {", "if false {"},
	{"token bound off by one", "token.go", "token >= backend.MaxToken", "token > backend.MaxToken"},
	{"exhaustion sticks", "token.go", "return 0, backend.ErrTokensExhausted", "c.last.Store(token); return 0, backend.ErrTokensExhausted"},

	{"capacity shrinks the pool later", "pool.go", "left, claimed := p.remaining, n <= p.remaining", "p.remaining = min(p.remaining, capacity)\n\tleft, claimed := p.remaining, n <= p.remaining"},
	{"capacity grows the pool later", "pool.go", "left, claimed := p.remaining, n <= p.remaining", "if p.remaining == 0 { p.remaining = capacity }\n\tleft, claimed := p.remaining, n <= p.remaining"},
	{"claim takes what is there", "pool.go", "left, claimed := p.remaining, n <= p.remaining", "if p.remaining > 0 { n = min(n, p.remaining) }\n\tleft, claimed := p.remaining, n <= p.remaining"},
	{"claim leaves one", "pool.go", "left, claimed := p.remaining, n <= p.remaining", "left, claimed := p.remaining, n < p.remaining"},
	{"claim below zero", "pool.go", "left, claimed := p.remaining, n <= p.remaining", "left, claimed := p.remaining, n <= p.remaining+1"},
	{"claim in two calls", "pool.go", "p.remaining = left", "sh.mu.Unlock(); runtime.Gosched(); sh.mu.Lock(); p.remaining = left"},
	{"claim compares doubles", "pool.go", "left, claimed := p.remaining, n <= p.remaining", "left, claimed := p.remaining, float64(n) <= float64(p.remaining)"},
	{"claim too large leaves no pool", "pool.go", "if !known {\n\t\tsh.pools", "if !known && claimed {\n\t\tsh.pools"},
	{"sold-out pool disappears", "pool.go", "p.remaining = left", "p.remaining = left; if left == 0 { delete(sh.pools, string(id)) }"},
	{"refused claim tells no count", "pool.go", "return backend.Claimed{Remaining: left}, sh.seen(), nil", "return backend.Claimed{}, sh.seen(), nil"},
	{"restock creates the pool", "pool.go", "return 0, sh.seen(), backend.ErrNoPool", "p = &pool{}; sh.pools[string(id)] = p"},
	{"restock overflow unchecked", "pool.go", "if n > math.MaxInt64-p.remaining {", "if n > math.MaxInt64-p.remaining && false {"},
	{"restock bound off by one", "pool.go", "if n > math.MaxInt64-p.remaining {", "if n >= math.MaxInt64-p.remaining {"},
	{"restock stops at the bound", "pool.go", "if n > math.MaxInt64-p.remaining {", "n = min(n, math.MaxInt64-p.remaining)\n\tif false {"},

	{"scope concatenated", "store.go", "buf = binary.AppendUvarint(buf, uint64(len(part)))", "_ = binary.AppendUvarint"},
	{"scope joined by a colon", "store.go", "buf = binary.AppendUvarint(buf, uint64(len(part)))", "_ = binary.AppendUvarint; buf = append(buf, ':')"},
	{"tenant left out", "store.go", "{scope.Tenant, scope.Repository, scope.Branch, name}", "{scope.Repository, scope.Branch, name}"},
	{"repository left out", "store.go", "{scope.Tenant, scope.Repository, scope.Branch, name}", "{scope.Tenant, scope.Branch, name}"},
	{"branch left out", "store.go", "{scope.Tenant, scope.Repository, scope.Branch, name}", "{scope.Tenant, scope.Repository, name}"},
	{"names folded", "store.go", "buf = binary.AppendUvarint(buf", "part = strings.ToLower(part); buf = binary.AppendUvarint(buf"},
	{"names trimmed", "store.go", "buf = binary.AppendUvarint(buf", "part = strings.TrimSpace(part); buf = binary.AppendUvarint(buf"},
	{"names cut", "store.go", "buf = binary.AppendUvarint(buf", "part = part[:min(len(part), backend.MaxNameBytes-1)]; buf = binary.AppendUvarint(buf"},

	{"ended context ignored", "store.go", "if err := ctx.Err(); err != nil {", "if err := ctx.Err(); err != nil && false {"},
	{"context's own error hidden", "store.go", "\"%w: %w\", backend.ErrUnavailable, err", "\"%w: %v\", backend.ErrUnavailable, err"},
	{"calls after Close", "store.go", "if s.closed.Load() {", "if false {"},
	{"Close twice panics", "store.go", "if s.closed.CompareAndSwap(false, true) {", "if s.closed.Store(true); true {"},
	{"Close leaves the reaper", "store.go", "close(s.stop)\n\t}\n\ts.reaper.Wait()", "}"},

	{"reaper takes live leases", "reaper.go", "sh.expiry[0].lease.live(now)", "false"},
	{"reaper late by one", "reaper.go", "sh.expiry[0].lease.live(now)", "sh.expiry[0].lease.live(now-1)"},
	{"reaper stops after one batch", "reaper.go", "again = true\n", "again = false\n"},
	{"reaper never comes", "reaper.go", "s.reap()\n\t\t}", "}"},
	{"reaper holds the shard until it is empty", "reaper.go", "for range reapBatch {", "for {"},
	{"memory never shrinks", "reaper.go", "sh.shrink()", ""},
	{"shrink loses the peak", "shard.go", "sh.peak = len(leases)", "sh.peak = 0"},
	{"shrink copies without bound", "shard.go", "min(sh.peak/4, maxMoved)", "sh.peak/4"},
	{"record stays in the heap", "shard.go", "sh.expiry.remove(l)\n", ""},
	{"unused records without bound", "shard.go", "if sh.unusedCount < maxUnused {", "{"},
	{"unused record keeps its fields", "shard.go", "*l = lease{key: key, token: token, deadline: end}", "l.key, l.deadline = key, end"},
	{"heap not repaired downwards", "expiry.go", "h.down(i, moved)\n\t\th.up(moved.lease.at, moved)", "h.up(i, moved)"},
	{"heap not repaired upwards", "expiry.go", "h.up(moved.lease.at, moved)\n", ""},
	{"heap prefers the later child", "expiry.go", "(*h)[i].deadline < (*h)[found].deadline", "(*h)[i].deadline > (*h)[found].deadline"},

	// Of the durable store.
	{"sync off", "journal.go", "if err := db.ApplyNoSyncWait(batch, pebble.Sync); err != nil {\n\t\treturn err\n\t}\n\treturn batch.SyncWait()", "return db.Apply(batch, pebble.NoSync)"},
	{"told before the sync", "journal.go", "return batch.SyncWait()", "go batch.SyncWait(); return nil"},
	{"a false answer does not wait for its sync", "shard.go", "return basis{group: sh.latest}", "return basis{}"},
	{"a change does not wait for its sync", "shard.go", "return basis{group: sh.latest, wrote: true}", "return basis{wrote: true}"},
	{"a false answer from memory that is not the disk's", "journal.go", "\t}\n\treturn j.unwritable()\n}", "\t}\n\treturn nil\n}"},
	{"poison tells success", "journal.go", "g.end(fmt.Errorf(\"%w: %w\", backend.ErrInDoubt, cause))", "g.end(nil)"},
	{"poison tells that nothing happened", "journal.go", "g.end(fmt.Errorf(\"%w: %w\", backend.ErrInDoubt, cause))", "g.end(fmt.Errorf(\"%w: %w\", backend.ErrUnavailable, cause))"},
	{"poison leaves callers waiting", "journal.go", "for _, g := range []*group{j.committing, j.open} {", "for _, g := range []*group{j.open} {"},
	{"poison keeps the state", "reaper.go", "s.drop()\n", "\n"},
	{"poison keeps the folder", "journal.go", "case <-j.poisoned:\n", "case <-make(chan int):\n"},
	{"who gives up is told that nothing happened", "journal.go", "if b.wrote {\n\t\t\t\treturn", "if false {\n\t\t\t\treturn"},
	{"who gives up is told to doubt for nothing", "journal.go", "if b.wrote {\n\t\t\t\treturn", "if true {\n\t\t\t\treturn"},
	{"who gives up must wait", "journal.go", "case <-ctx.Done():", "case <-context.Background().Done():"},
	{"changes wait without bound", "journal.go", "> maxGroupBytes:", "> 1<<40:"},
	{"a late grant is told", "lease.go", "s.clock.Boot() < end {", "s.clock.Boot() < end || true {"},
	{"a late grant is not tried again", "lease.go", "for range 2 {", "for range 1 {"},
	{"no ceiling", "journal.go", "_ = g.batch.Set(ceilingKey, j.value, nil)", "_ = ceilingKey"},
	{"one ceiling for ever", "recovery.go", "j.ceiling = r.ceiling", "j.ceiling = 1<<62"},
	{"ceiling not read", "recovery.go", "s.tokens.last.Store(r.ceiling)", ""},
	{"ceiling a day ahead", "journal.go", "token + tokenLead", "token + 8640*tokenLead"},
	{"grants not written", "shard.go", "return sh.wrote(sh.journal.putLease(id, token, end, ttl))", "return nil"},
	{"releases not written", "shard.go", "return sh.wrote(sh.journal.eraseLease(l.key))", "return nil"},
	{"pools not written", "shard.go", "return sh.wrote(sh.journal.putPool(id, remaining))", "return nil"},
	{"renewals not written", "lease.go", "if err := sh.recordLease(id, token, end, ttl); err != nil {\n\t\t\treturn false", "if err := error(nil); err != nil {\n\t\t\treturn false"},
	{"claims not written", "pool.go", "if err := sh.recordPool(id, left); err != nil {", "if err := error(nil); err != nil {"},
	{"restocks not written", "pool.go", "sh.recordPool(id, p.remaining+n)", "error(nil)"},
	{"new pools not written", "pool.go", "if err := sh.recordPool(id, left); err != nil {", "if !known && !claimed {\n\t} else if err := sh.recordPool(id, left); err != nil {"},
	{"what is refused is done in memory", "pool.go", "if err := sh.recordPool(id, left); err != nil {", "if err := sh.recordPool(id, left); err != nil {\n\t\tp.remaining = left"},
	{"over, and alive after another boot", "shard.go", "if err := sh.recordEnd(l); err != nil {\n\t\treturn basis{}, err\n\t}\n\tsh.remove(l)\n\treturn sh.seen(), nil", "return sh.seen(), nil"},
	{"over is told before it is written", "shard.go", "sh.remove(l)\n\treturn sh.seen(), nil", "sh.remove(l)\n\treturn basis{}, nil"},
	{"reaper leaves the records on disk", "reaper.go", "if sh.recordEnd(sh.expiry[0].lease) != nil {", "if false {"},
	{"shortened recovery", "recovery.go", "deadline(r.now, l.ttl)", "deadline(r.now, l.ttl/2)"},
	{"recovery by the deadline of another boot", "recovery.go", "if !r.sameBoot {", "if false {"},
	{"recovery for all the time at every restart", "recovery.go", "if !r.sameBoot {", "if true {"},
	{"recovered deadlines not written", "recovery.go", "_ = r.opening.Set(key, appendLease(nil, record), nil)", ""},
	{"boot not written", "recovery.go", "_ = r.opening.Set(bootKey, []byte(r.boot), nil)", ""},
	{"recovery keeps what is over", "recovery.go", "if record.deadline <= r.now {", "if false {"},
	{"recovery late by one", "recovery.go", "if record.deadline <= r.now {", "if record.deadline < r.now {"},
	{"recovery drops what runs", "recovery.go", "if record.deadline <= r.now {", "if record.deadline > r.now {"},
	{"recovery without pools", "recovery.go", "r.store.shardOf(id).pools[string(id)] = &pool{remaining: remaining}", "_ = remaining"},
	{"first records may be missing", "recovery.go", "case format == \"\" && whole:", "case false:"},
	{"any format", "recovery.go", "case format != \"\" && format != formatVersion && format != unledgeredFormat:", "case false:"},
	{"any record", "recovery.go", "\treturn errRecord\n}", "\treturn nil\n}"},
	{"store never marked", "recovery.go", "if err := home.markFull(); err != nil {", "if err := error(nil); err != nil {"},
	{"log in the older format", "open.go", "if err == nil && !home.isMarked() {", "if false {"},
	{"manifest may be missing", "open.go", "opts.ErrorIfNotExists = home.isMarked()", ""},
	{"log may be missing", "open.go", "if err == nil && !slices.ContainsFunc(names, isLog)", "if false && !slices.ContainsFunc(names, isLog)"},
	{"log left at the end", "open.go", "errors.Join(j.db.Flush(), j.closeDB(), home.unlock())", "errors.Join(j.closeDB(), home.unlock())"},
	{"folder stays locked", "folder.go", "return errors.Join(err, f.lock.Close())", "return err"},
	{"folder of a refused store stays locked", "open.go", "return nil, errors.Join(err, home.unlock())", "return nil, err"},
	{"folder open to everybody", "folder.go", "0o700", "0o755"},
	{"process not named", "folder.go", "strconv.Itoa(os.Getpid())", "strconv.Itoa(0)"},
	{"process named when it is gone", "folder.go", "err := f.fs.Remove(f.fs.PathJoin(f.path, pidFile))", "err := error(nil)"},
	{"disk written after a failure", "failstop.go", "f.stopped.Store(true)", ""},
	{"failed writes ignored", "failstop.go", "if err := operation(); err != nil {\n\t\tf.fail(err)", "if err := operation(); err != nil {\n\t\t_ = err"},
	{"failures handed to pebble", "failstop.go", "if err := operation(); err != nil {\n\t\tf.fail(err)", "if err := operation(); err != nil {\n\t\tf.fail(err); return err"},
	{"fatal errors only logged", "pebble.go", "l.fail(fmt.Errorf(format, args...))", "l.log.Error(fmt.Sprintf(format, args...))"},

	{"damage is not looked for", "open.go", "err = known.compare(f)", ""},
	{"damaged bytes are not compared", "ledgerrecord.go", "case sum.Sum32() != e.crc:", "case false:"},
	{"missing bytes are not noticed", "ledgerrecord.go", "case errors.Is(err, io.EOF):", "case errors.Is(err, io.EOF):\n\t\treturn nil\n\tcase false:"},
	{"missing files are not noticed", "ledgerrecord.go", "if errors.Is(err, fs.ErrNotExist) {", "if errors.Is(err, fs.ErrNotExist) {\n\t\treturn nil\n\t}\n\tif false {"},
	{"an old marker is taken", "ledgerrecord.go", "if current < r.marker {", "if false {"},
	{"a missing ledger is made anew", "open.go", "case f.mark == unmarked && (errors", "case (errors"},
	{"the mark may say anything", "folder.go", "return unmarked, fmt.Errorf(\"%s is changed\", markFile)", "return markedOld, nil"},
	{"a stale ledger of an old store counts", "open.go", "if f.mark == markedOld {", "if f.mark == markedOld && false {"},
	{"an old store is not marked anew", "folder.go", "if f.mark == markedFull {", "if f.mark != unmarked {"},
	{"the mark is written in place", "folder.go", "f.write(newMarkFile, markText); err != nil {\n\t\treturn err", "f.write(markFile, markText); true {\n\t\tf.mark = markedFull\n\t\treturn err"},
	{"old versions may write beside the ledger", "record.go", "formatVersion    = \"2\"", "formatVersion    = \"1\""},
	{"opened for writing before it is read", "open.go", "if home.isMarked() || home.hasManifest() {\n\t\tif err := r.readFolder(home, opts.Log); err != nil {", "if home.isMarked() || home.hasManifest() {\n\t\tif db, err := pebble.Open(home.path, &pebble.Options{FS: home.fs, Lock: home.lock, FormatMajorVersion: pebble.FormatNewest, Logger: pebbleLog{log: opts.Log, fail: func(error) {}}}); err == nil {\n\t\t\tdb.Close()\n\t\t}\n\t\tif err := r.readFolder(home, opts.Log); err != nil {"},
	{"reading writes", "recovery.go", "opts.ReadOnly = true", ""},
	{"nothing is in the ledger", "ledger.go", "return e.named && e.length > 0", "return false"},
	{"logs are not in the ledger", "ledger.go", "case e.id.kind == manifestFile, l.strict:", "case e.id.kind == logFile:\n\tcase e.id.kind == manifestFile, l.strict:"},
	{"manifests are in the ledger later", "ledger.go", "case e.id.kind == manifestFile, l.strict:", "case l.strict:"},
	{"in the ledger before it is synced", "ledger.go", "\tlength, crc := f.length, f.crc\n", "\tlength, crc := f.length, f.crc\n\tif err := f.ledger.synced(f.entry, length, crc); err != nil {\n\t\treturn err\n\t}\n\tif err := f.ledger.writeLatest(); err != nil {\n\t\treturn err\n\t}\n"},
	{"in the ledger before its name is durable", "ledger.go", "e := &ledgerEntry{id: id}", "e := &ledgerEntry{id: id, named: true}"},
	{"dropped from the ledger some time", "ledger.go", "if !known {\n\t\treturn nil\n\t}\n\treturn l.write(version)", "_ = version\n\tl.writeSoon()\n\treturn nil"},
	{"dropped from the ledger afterwards", "ledger.go", "\tif err := l.forget(path); err != nil {\n\t\treturn err\n\t}\n\treturn l.FS.Remove(path)", "\tif err := l.FS.Remove(path); err != nil {\n\t\treturn err\n\t}\n\treturn l.forget(path)"},
	{"a log that is used again stays in the ledger", "ledger.go", "if err := l.forget(oldpath, newpath); err != nil {\n\t\treturn nil, err\n\t}\n\tfile, err := l.FS.ReuseForWrite", "file, err := l.FS.ReuseForWrite"},
	{"a marker before its manifest", "ledger.go", "if err := l.syncFolder(func() error { return syncFolder(l.FS, l.dir) }); err != nil {\n\t\treturn nil, err\n\t}\n", ""},
	{"the marker is in the ledger before it is durable", "ledger.go", "urgent := moving > l.marker", "moving = l.moving; urgent := moving > l.marker"},
	{"the marker is never in the ledger", "ledger.go", "l.marker = max(l.marker, moving)", ""},
	{"one slot of the ledger", "ledgerrecord.go", "int64(r.seq%2) * slotBytes", "0"},
	{"the ledger is not synced", "ledger.go", "if err := l.file.SyncData(); err != nil {\n\t\treturn err\n\t}\n", ""},
	{"half a slot of the ledger is read", "ledgerrecord.go", "== crc32.Checksum(slot[:end], castagnoli)", "!= 0"},
	{"the older slot of the ledger counts", "ledgerrecord.go", "r.seq > latest.seq", "r.seq < latest.seq"},
	{"the ledger does not know what it read", "ledgerrecord.go", "l.entries[e.id] = &e", "_ = e"},
	{"verify = answer does not wait", "ledger.go", "case e.id.kind == manifestFile, l.strict:", "case e.id.kind == manifestFile:"},
	{"every answer waits for the ledger", "ledger.go", "case e.id.kind == manifestFile, l.strict:", "case true:"},
	{"the ledger is not written at the end", "open.go", "j.disk.do(j.ledger.writeLatest), ", ""},
	{"a ledger that cannot be written is ignored", "ledger.go", "_ = disk.do(l.writeLatest)", "_ = l.writeLatest()"},
	{"a folder that is moved goes unnoticed", "inode.go", "if now := inodeOf(l.Stat(l.dir)); !now.is(l.where) {", "if false {"},
	{"a log without a name goes unnoticed", "inode.go", "file.known && file.names == 0", "file.names > 1<<40"},
	{"tables are read in the background", "pebble.go", "DisableTableStats: true,", ""},

	{"repair changes what nobody said yes to", "repair.go", "err != nil || !inPlace || len", "err != nil || len"},
	{"repair replaces what is whole", "repair.go", "|| len(report.Missing) == 0 {", "{"},
	{"repair keeps nothing of the damaged folder", "repair.go", "os.Rename(dir, kept)", "os.RemoveAll(dir)"},
	{"repair does not say what is missing", "repair.go", "s.missing = eachOf(err)", ""},
	{"repair gives up at a damaged log", "repair.go", "if err := s.cutLogs(scratch); err != nil {", "if err := error(nil); err != nil {"},
	{"repair loses the tokens", "repair.go", "last := now.UnixMicro() + tokenLead", "last := int64(0)"},
	{"repair loses the leases", "repair.go", "if key[0] != metaPrefix {", "if key[0] == poolPrefix {"},
	{"repair loses the salts", "repair.go", "return copyFile(home, path, \"SALTS\")", "return nil"},

	{"a lease loses its ttl", "record.go", "return appendInt(buf, int64(l.ttl))", "return appendInt(buf, int64(l.deadline))"},
	{"a negative count is read", "record.go", "if n < 0 {", "if false {"},
	{"a token out of range is read", "record.go", "if token >= backend.MaxToken {", "if token > backend.MaxToken {"},
	{"all unknown boots are one", "boot.go", "rand.Text()", "rand.Text()[:0]"},
	{"a durable store calls itself immediate", "store.go", "return s.journal == nil }", "return true }"},

	{"an exported store can be opened", "open.go", "if err := home.whySealed(); err != nil {", "if err := error(nil); err != nil {"},
	{"an export seals nothing", "export.go", "if err := home.seal(exporting, to.Header.ID, to.Path()); err != nil {\n\t\treturn totals, err\n\t}\n", ""},
	{"an export seals afterwards only", "export.go", "if err := home.seal(exporting, to.Header.ID, to.Path()); err != nil {\n\t\treturn totals, err\n\t}\n\tif err := to.Publish(); err != nil {", "if err := to.Publish(); err != nil {"},
	{"a seal is not synced", "seal.go", "\treturn syncFolder(f.fs, f.path)\n}\n\n// unseal", "\treturn nil\n}\n\n// unseal"},
	{"a second export is not asked about", "export.go", "before.State == exported && !again", "false"},
	{"an export without the ceiling", "export.go", "return to.Finish(e.ceiling)", "return to.Finish(0)"},
	{"leases that are over are exported", "export.go", "left > 0 {", "left > -1<<62 {"},
	{"leases move by the deadline of another boot", "export.go", "e.deadlineOf(lease) - e.now", "lease.deadline - e.now"},
	{"damage is exported", "export.go", "if _, err := home.verify(); err != nil {\n\t\treturn moving.Totals{}, whyNot(home.path, err)\n\t}", "home.mark, _ = home.readMark()"},
	{"half an import can be opened", "import.go", "if err := home.seal(importing, from.Header.ID, file); err != nil {\n\t\treturn errors.Join(err, home.unlock())\n\t}\n", ""},
	{"an import stays sealed", "import.go", "err = home.unseal() // all is durable, and the folder is locked still", "_ = home"},
	{"an import into what is there", "import.go", "case leases+pools > 0:", "case false:"},
	{"an import of any file goes on", "import.go", "s.State == importing && s.ID == id", "s.State == importing"},
	{"what was exported is replaced unasked", "import.go", "s.State == exported && replace", "s.State == exported"},
	{"an import without the tokens of the file", "import.go", "max(from.Totals.GreatestToken, s.journal.ceiling)", "s.journal.ceiling"},
	{"an import without the tokens of the store", "import.go", "max(from.Totals.GreatestToken, s.journal.ceiling)", "from.Totals.GreatestToken"},
	{"an import beside old leases", "import.go", "\t_ = i.batch.DeleteRange([]byte{leasePrefix}, []byte{leasePrefix + 1}, nil)\n", ""},
	{"an import shortens leases", "import.go", "deadline(i.now, l.Remaining), ttl", "deadline(i.now, l.Remaining/2), ttl"},
	{"an import loses the last batch", "import.go", "err == nil {\n\t\terr = i.flush()", "false {\n\t\terr = i.flush()"},
	{"half an import is reopened", "seal.go", "case s.State == importing:", "case false:"},
	{"reopened while its file can be imported", "seal.go", "if err := voided(); err != nil {\n\t\treturn err\n\t}\n", ""},
	{"reopened with any file", "seal.go", "case id != \"\" && id != s.ID:", "case false:"},
}

// slow are tests that would take most of the time. What they find, others have to
// find too.
const slow = "^(TestDurableConformanceInAFolder|TestConformanceOverRestarts)$"

func main() {
	if survivors := run(strings.Join(os.Args[1:], " ")); survivors > 0 {
		fmt.Printf("%d mutants were not caught\n", survivors)
		os.Exit(1)
	}
}

// run counts the mutants that live on, of those with only in their name.
func run(only string) (survivors int) {
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", pkg).Output()
	check(err)
	tmp, err := os.MkdirTemp("", "mutants")
	check(err)
	defer os.RemoveAll(tmp)

	sound := mutant{name: "no fault"}
	if verdict, caught := sound.run(strings.TrimSpace(string(dir)), tmp); caught {
		fmt.Println("the tests fail without a fault: " + verdict)
		return 1
	}
	for _, m := range mutants {
		if !strings.Contains(m.name, only) {
			continue
		}
		verdict, caught := m.run(strings.TrimSpace(string(dir)), tmp)
		if !caught {
			survivors++
		}
		fmt.Printf("%-42s %s\n", m.name, verdict)
	}
	return survivors
}

// run tests the package with the fault in it and says which tests failed.
func (m mutant) run(dir, tmp string) (verdict string, caught bool) {
	replace := map[string]string{}
	if m.file != "" {
		original := filepath.Join(dir, m.file)
		text, err := os.ReadFile(original)
		check(err)
		if !strings.Contains(string(text), m.from) {
			return "STALE: the text to replace is gone", false
		}
		changed := withImports(strings.ReplaceAll(string(text), m.from, m.to))
		replace[original] = filepath.Join(tmp, m.file)
		check(os.WriteFile(replace[original], []byte(changed), 0o600))
	}
	overlay := filepath.Join(tmp, "overlay.json")
	spec, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	check(err)
	check(os.WriteFile(overlay, spec, 0o600))

	out, err := exec.Command("go", "test", "-count=1", "-vet=off", "-timeout=5m", "-failfast", "-skip", slow,
		"-overlay", overlay, pkg, "-rapid.nofailfile").CombinedOutput()
	switch {
	case err == nil:
		return "SURVIVED", false
	case strings.Contains(string(out), "[build failed]"):
		return "DOES NOT BUILD\n" + string(out), false
	}
	return caughtBy(string(out)), true
}

// withImports adds the imports that a fault may need.
func withImports(text string) string {
	for _, name := range []string{"runtime", "strings"} {
		if strings.Contains(text, name+".") && !strings.Contains(text, `"`+name+`"`) {
			text = strings.Replace(text, "import (", "import (\n\t\""+name+"\"", 1)
		}
	}
	return text
}

var (
	failed  = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	crashed = regexp.MustCompile(`(?m)^(panic|fatal error): .*|^goleak: .*`)
)

// caughtBy names the first failing tests that have no failing subtest.
func caughtBy(out string) string {
	var leaves []string
	for _, match := range failed.FindAllStringSubmatch(out, -1) {
		name := match[1]
		if n := len(leaves); n > 0 && strings.HasPrefix(name, leaves[n-1]+"/") {
			leaves[n-1] = name // its parent was printed just before
		} else {
			leaves = append(leaves, name)
		}
	}
	const shown = 3
	switch {
	case len(leaves) == 0:
		return "caught by a crash: " + crashed.FindString(out)
	case len(leaves) > shown:
		return fmt.Sprintf("caught by %s and %d more", strings.Join(leaves[:shown], ", "), len(leaves)-shown)
	}
	return "caught by " + strings.Join(leaves, ", ")
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
