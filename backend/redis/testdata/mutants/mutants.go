package main

// A mutant is one fault.
type mutant struct {
	name  string
	tests string // which tests should notice, as go test -run takes them; they have to pass without the fault
	edits []edit
}

// edit: in file, every from becomes to.
type edit struct{ file, from, to string }

func one(name, tests, file, from, to string) mutant {
	return mutant{name, tests, []edit{{file, from, to}}}
}

// Groups of tests.
const (
	locks     = "TestConformance$/^(lock|token)$"
	pools     = "TestConformance$/^(inventory|names)$/(count|restock|claim|capacity|pool)"
	limits    = "TestConformance$/^limit$"
	racing    = "TestConformance$/^concurrent$"
	names     = "TestConformance$/^names$|TestNames"
	repeated  = "Dropped|Duplicated|Copy|Repeated|Time"
	cancelled = "Cancelled|Doubt|AfterItsLease|TooLate"
	outage    = "Gone|ReplicaIsNot|Demoted"
	judged    = "NotTheOneThatWasJudged|TheLastJudgement"
	moved     = "Sealed|AnExport|AnInterrupted|AnImport|MovingThere|FloorIsShared|CallThatTheExport|WhatIsNotCertain"
	loss      = "AOF|Lost|Adopt|Wiped|Notic|PoolThat|Failover|Restart|OwnCount"
)

var mutants = []mutant{
	one("nonce dropped", repeated, "lua/prelude.lua", "local record = '!' .. nonce", "local record = '!' .. table.concat(redis.call('TIME'))"),
	one("nonce new per retry", repeated, "call.go", "	c.notAfter = s.clock.now() +", "	c.nonce = s.nonce()\n	c.notAfter = s.clock.now() +"),
	one("nonce expired early", "Dropped$", "lua/prelude.lua", "local ORPHAN_US = 60000000", "local ORPHAN_US = -1000000000"),
	one("nonce of a repeated call dropped by the next one", "OtherCalls", "call.go", "if !c.copied && r.changed() {", "if r.changed() {"),
	one("answered nonces never dropped", "RecordStays", "lua/prelude.lua", "for i = from, #ARGV do redis.call('HDEL', key, '!' .. ARGV[i]) end", ""),
	one("orphans never dropped", "NobodyComes", "lua/prelude.lua", "if until_us + ORPHAN_US < tonumber(now) then", "if false then"),
	one("refused answers of retries not kept", "CopyOfA", "lua/prelude.lua", "if not copied then return", "if true then return"),
	one("retries not told apart", "CopyOfA", "call.go", "if c.copied {\n		copied = \"1\"", "if false {\n		copied = \"1\""),
	one("not_after ignored: claim", "AfterItsTime", "lua/claim.lua", "if less(not_after, now) then", "if false then"),
	one("a settled nonce leaves no tombstone", "GivenUp", "lua/settle.lua", "    redis.call('HSET', key, record, gone)\n    keep()\n", ""),
	one("a late copy of a released acquire is granted", "ReleasedAcquire", "lua/acquire.lua", "if not less(said[1], not_after) then", "if false then"),
	one("a lease that is over is handed out again", "NotHandedOut", "lua/acquire.lua", "if held and said[3] == last then", "if true then"),
	one("a cancelled grant is not undone", cancelled, "lua/settle.lua", "    if held then free(retention) end\n", ""),
	one("a cancelled claim is not undone", cancelled, "lua/settle.lua", "if undo and said[2] == 'CLAIMED' and units then", "if false then"),
	one("an applied release is said to be nothing", cancelled, "settle.go", "if cancelled && (was.changed()", "if cancelled && (false"),
	one("what was written is taken for unsent", cancelled+"|InDoubt", "call.go", "c.copied = true\n", ""),
	one("an answer after the lease is delivered", cancelled, "lock.go", "|| time.Since(sent) < ttl {", "|| time.Since(sent) >= 0 {"),
	one("a late grant is not released", "NotDelivered", "lock.go", "if _, err := s.release(ctx, id, grant.Token); err != nil {", "if false {"),

	one("pools of a tenant not counted", limits, "lua/reserve.lua", "if redis.call('HLEN', key) >= limit then", "if false then"),
	one("one pool more than the limit", limits, "lua/reserve.lua", "redis.call('HLEN', key) >= limit", "redis.call('HLEN', key) > limit"),
	one("a pool counts each time", limits+"|NotedOnly", "lua/reserve.lua", "if noted == 1 then", "if false then"),
	one("pools made before they are counted", limits, "inventory.go", "n, capacity, !limited)", "n, capacity, true)"),
	one("pools counted by branch", limits, "inventory.go", "tenantKey(s.opts.Namespace, scope.Tenant)", "tenantKey(s.opts.Namespace, scope.Tenant+scope.Repository+scope.Branch)"),

	one("token = now only", locks+"|Tokens", "lua/acquire.lua", "math.max(tonumber(last) + 1, tonumber(now), tonumber(floor) + 1)", "tonumber(now)"),
	one("token = last + 1 only", locks, "lua/acquire.lua", "math.max(tonumber(last) + 1, tonumber(now), tonumber(floor) + 1)", "tonumber(last) + 1"),
	one("token without the floor", "Tokens", "lua/acquire.lua", ", tonumber(floor) + 1)", ")"),
	one("token concatenated as a Lua number", locks, "lua/prelude.lua", "return string.format('%.0f', number)", "return number .. ''"),
	one("token unbounded", "TokensEnd", "lua/acquire.lua", "if token >= 9007199254740992 then", "if false then"),
	one("tokens at once after a restart", "ClockIsPast", "watch.go", "w.clock.floor() + w.opts.MaxClockSkew.Microseconds()", "0"),

	one("acquire takes a live lease over", locks, "lua/acquire.lua", "if held then return decline", "if false then return decline"),
	one("renew revives", locks, "lua/renew.lua", "if not (token == last and live(retention)) then", "if not (token == last) then"),
	one("renew without comparing", locks, "lua/renew.lua", "token == last and ", ""),
	one("renew shortens", locks, "lua/renew.lua", "if end_ms > redis.call('PTTL', key) then", "if true then"),
	one("release without comparing", locks, "lua/release.lua", "token == last and ", ""),
	one("release after expiry", locks, "lua/release.lua", "token == last and live(retention)", "token == last and retention"),
	one("release frees by the clock only", "Tokens", "lua/prelude.lua", "redis.call('HDEL', key, 'r')\n", ""),
	one("expiry only by Redis's own", locks, "lua/prelude.lua", "redis.call('PTTL', key) > tonumber(retention)", "true"),
	one("the last token is forgotten", "TestARecord|Immortal", "lua/acquire.lua", "tonumber(ttl) + tonumber(retention)", "tonumber(ttl)"),
	one("keys live for ever", "Keyspace", "lua/prelude.lua", "redis.call('PEXPIRE', key, retention)", "redis.call('PERSIST', key)"),

	one("comparison as doubles", pools, "lua/prelude.lua", "    if #a ~= #b then return #a < #b end\n    return a < b", "    return tonumber(a) < tonumber(b)"),
	one("comparison of bytes only", pools, "lua/prelude.lua", "    if #a ~= #b then return #a < #b end\n", ""),
	{"claim in two calls", racing, []edit{
		{"lua/claim.lua", "elseif less(units, n) then", "elseif false then"},
		{"lua/claim.lua", "if not less(units, n) then", "if true then"},
		{"inventory.go", "	seen := s.known.pool(id)\n	r, err := s.do(ctx, &call{script: claimScript",
			"	seen := s.known.pool(id)\n	if look, err := s.do(ctx, &call{script: restockScript, key: id, args: []any{0, \"\", 0}}); err == nil && look.int(0) < n && look.word == \"RESTOCKED\" {\n		return backend.Claimed{Remaining: look.int(0)}, nil\n	}\n	r, err := s.do(ctx, &call{script: claimScript"},
	}},
	one("overflow is an outage", pools, "lua/restock.lua", "if string.find(refused.err, 'overflow', 1, true) then", "if false then"),
	one("a sold-out pool is made anew", pools, "lua/claim.lua", "if not units then", "if not units or units == '0' then"),
	one("a note makes a pool mortal", "NotesOnly", "lua/claim.lua", "redis.call('PERSIST', key)", "do end"),

	one("names not escaped", names, "key.go", "c <= ' ' || c == 0x7f || c == '%' || c == ':' || c == '{' || c == '}'", "c == 0x7f"),
	one("tenant left out", names, "key.go", "{scope.Tenant, scope.Repository, scope.Branch, name}", "{scope.Repository, scope.Branch, name}"),

	one("outage reported as false", outage, "lock.go", "	}})\n	if err != nil {\n		return backend.Grant{}, err\n	}", "	}})\n	if err != nil {\n		return backend.Grant{}, nil\n	}"),
	one("a script that failed in the middle did nothing", "InTheMiddle", "errors.go", "return broken", "return refused"),
	one("a failed dial is in doubt", outage, "errors.go", "case errors.As(err, &notSent), ", "case errors.As(err, &notSent) && false, "),
	one("a replica's refusal counts", outage, "lua/prelude.lua", "local function refusal() return first('HDEL', key, '!') end", "local function refusal() end"),
	one("out of memory is an outage", "WithoutMemory", "errors.go", `"OOM"`, `"MOO"`),
	one("no release without memory", "WithoutMemory", "lua/release.lua", "local refused = refusal()\nif refused then return refused end\nfree(retention)\nredis.call('HSET', key, record, not_after .. ' YES')", "local refused = first('HSET', key, record, not_after .. ' YES')\nif refused then return refused end\nfree(retention)"),
	one("scripts never sent again", "Forgotten", "call.go", "eval = true\n", ""),
	one("redirects not followed", "Slots", "call.go", "at, asking = s.redirect(ctx, err)", ""),
	one("asked without ASKING", "Slots", "call.go", "return s.servers.at(ctx, addr), true", "return s.servers.at(ctx, addr), false"),
	one("WAIT ignored", "WaitForReplicas", "call.go", "if r.short && answer.changed() {", "if false {"),
	one("a late answer is taken for a refusal", "WhoseAnswerIsLate", "call.go", "c.copied = true\n", ""),
	one("any eviction policy will do", "MayEvict", "watch.go", `if s.policy != "noeviction" {`, "if false {"),

	one("the seq check removed", loss, "lua/claim.lua", "or less(seq, known_seq)", ""),
	one("the gen check removed", loss, "lua/claim.lua", "or gen ~= known_gen ", ""),
	one("a missing pool is made anew", loss, "lua/claim.lua", "not units or gen ~= known_gen or", "units and (gen ~= known_gen) or units and"),
	one("the replid check removed", "Lagging", "watch.go", "if from.Offset < s.second {", "if true {"),
	one("offsets not sampled along with the calls", "AlongWith", "watch.go", "n.Offset = max(n.Offset, acknowledged(info, w.opts.WaitReplicas))", ""),
	one("a restart without AOF is no loss", "WithoutAOF", "watch.go", "if restarted && !s.aof && w.replaced(addr, all, failed) {", "if false {"),
	one("beats not compared", "OldAOF", "beat.go", "case ok && b.Last < known.Last &&", "case false &&"),
	one("another id is taken", "Wiped|Adopt", "beat.go", `if seen != "" {`, "if false {"),
	one("pools are created after every adopt", "WithoutAOFStops|Wiped", "lua/claim.lua", "if not create then", "if false then"),
	one("a loss is forgotten over a restart", "OverARestart", "statefile.go", "json:\"lost,omitempty\"", "json:\"-\""),
	one("a loss stays with who noticed it", "StopsTheOthers", "lua/id.lua", "if fields[1] == ARGV[1] and lost ~= '1' then", "if false then"),
	one("locks go on after a loss", "WithoutAOFStops", "evidence.go", "if !w.opts.ContinueOnLoss && time.Now()", "if false && time.Now()"),
	one("unknown servers are taken as they are", "NotLookedAt", "watch.go", "case !w.knows(s):", "case !w.knows(s) && false:"),

	mutant{"evidence taken once for a call", "CallsThatWait|ClockWentBack", []edit{
		{"call.go", "	forget []string // nonces that were answered\n", "	forget []string // nonces that were answered\n	first  *evidence\n"},
		{"call.go", "		if e, err = c.judge(addr); err != nil {\n			return nil, err\n		}\n", "		if c.first != nil {\n			e = *c.first\n		} else if e, err = c.judge(addr); err != nil {\n			return nil, err\n		}\n		e.epoch, c.first = 0, &e\n"},
	}},
	one("what waits in the queue is sent whatever was judged since", judged, "lane.go", "if r.epoch != 0 && r.epoch != epoch {", "if false {"),
	one("a new connection carries what is out of date", judged, "watch.go", "case w.judgedAnew(epochOf(ctx)):", "case false:"),
	one("another process is taken for the one that was judged", judged, "lua/prelude.lua", "if not string.find(server, ", "if not string.find('\\nrun_id:' .. run .. '\\r', "),
	one("another history is taken for the one that was judged", judged, "lua/prelude.lua", "if not string.find(replication, ", "if not string.find('\\nmaster_replid:' .. repl .. '\\r', "),
	one("a beat made anew is taken for the old one", judged, "lua/prelude.lua", "if gen[1] ~= name then", "if false then"),
	one("pools are made without looking at the beat", judged+"|WipedRedis", "lua/prelude.lua", "if not gen[1] then return refusal() or {'NOBEAT', now} end", "if not gen[1] then return end"),
	one("a pool that is gone is said never to have been", judged+"|WipedRedis", "lua/restock.lua", "if not_yet then", "if false then"),
	one("locks without a token are granted unjudged", judged+"|WipedRedis", "lua/acquire.lua", "if last == '0' then", "if false then"),
	one("a missing beat is made in silence", "ANewProxyMisses|OneShard", "lua/beat.lua", "if make == '' then", "if false then"),
	one("beats that others have made are not missed", "ANewProxyMisses", "beat.go", `; !known && listed == ""`, "; !known"),
	one("units that nobody writes are taken", "UnitsThat", "lua/prelude.lua", "return units and not (plain(units) and plain(seq))", "return false"),
	one("a clock beyond all tokens is believed", "ClockFar", "servertime.go", "return micros < backend.MaxToken", "return micros < backend.MaxToken || micros > 0"),
	one("tokens are made of a clock beyond them", "ClockFar", "lua/prelude.lua", "then return {'CLOCK', now} end", "then do end end"),
	one("a pause is forgotten over a restart", "OutlivesTheProxy", "statefile.go", "json:\"paused,omitzero\"", "json:\"-\""),
	one("a loss is told before it is saved", "OutlivesTheProxy|ThatACallNotices", "watch.go", "if !unsaved {", "if !unsaved || true {"),
	one("a second loss is nothing", "ASecond", "watch.go", "if w.state.Lost != \"\" && ", "if w.state.Lost != \"\" || "),
	one("two proxies share a state file", "OfOneProxyOnly", "statelock.go", "syscall.LOCK_EX|", "syscall.LOCK_SH|"),
	one("a floor beyond all tokens is taken", "FloorBeyond", "statefile.go", "if old.Floor >= backend.MaxToken {", "if old.Floor < -backend.MaxToken {"),
	one("what no replica has counts as acknowledged", "PlannedFailover", "sample.go", "if wait == 0 {", "if true {"),
	one("a missing pool is said never to have been", "WithoutAOFStops", "inventory.go", "if !mayCreate { // so", "if false && mayCreate { // so"),
	one("a failed handshake is in doubt", "NeverEnds", "dial.go", "c.ready = c.asked", "c.ready = true"),
	one("a sealed pool is sold", "Sealed", "lua/claim.lua", "if fields[5] then return decline('SEALED') end", ""),
	one("a sealed pool is restocked", "Sealed", "lua/restock.lua", "if fields[5] then return decline('SEALED') end", ""),
	one("a sealed lock is granted", "Sealed", "lua/acquire.lua", "if fields[4] then return decline('SEALED') end", ""),
	one("a sealed lock is renewed", "Sealed", "lua/renew.lua", "if fields[4] then return decline('SEALED') end", ""),
	one("a sealed lock is released", "Sealed", "lua/release.lua", "if fields[4] then return decline('SEALED') end", ""),
	one("new pools beside an export", "Sealed", "lua/prelude.lua", "    if gen[2] then return decline('SEALED') end\n", ""),
	one("an exported claim is undone", "CallThatTheExport", "lua/settle.lua", "if fields[5] then undo = false end", ""),
	one("an export leaves no marks", "Sealed|AnExport", "lua/take.lua", "redis.call('HSET', key, 'x', mark)\n", ""),
	one("an export leaves the beats", "Sealed", "export.go", "if err := m.sealBeats(ctx); err != nil {\n		return moving.Totals{}, err\n	}\n", ""),
	one("a second export is not asked about", moved, "export.go", "if !again {", "if false {"),
	one("a key that comes twice is written twice", "ComesTwice", "lua/take.lua", "if fields[5] == mark then return {'SEEN', now} end", ""),
	one("an export of lost state", "WhatIsNotCertain", "seal.go", "case m.record.lost:", "case false:"),
	one("an export does not look at the beats", "WhatIsNotCertain", "export.go", "for key := range m.state.Beats {", "for key := range map[string]bool{} {"),
	one("an export without the floor", "FloorIsShared", "export.go", "greatest := max(m.record.floor, m.state.Floor)", "greatest := int64(0)"),
	one("the floor stays with its proxy", "FloorIsShared", "lua/id.lua", "    redis.call('HSET', key, 'floor', ARGV[4])\n", ""),
	one("the floor of others is not read", "FloorIsShared", "beat.go", "	s.clock.see(0, min(floor, backend.MaxToken-1))\n", "	_ = floor\n"),
	one("an import without the tokens of the file", "AnInterrupted|MovingThere", "import.go", "max(m.record.floor, from.Totals.GreatestToken)", "m.record.floor"),
	one("half an import is served", "AnInterrupted", "lua/put.lua", "'seq', '0', 'x', mark)", "'seq', '0')"),
	one("a proxy does not look for a seal", "AnInterrupted|Sealed", "watch.go", "		w.sealed = r.seal\n", ""),
	one("an import writes again what is served", "AnInterrupted", "import.go", "if m.record.state != sealOpening {", "if true {"),
	one("an import into what is there", "AnImport", "import.go", "if err == nil && len(found) > 0 {", "if false {"),
	one("an import over other keys without an id", "AnImport", "import.go", "case !empty:", "case !empty && false:"),
	one("an import does not count its pools", "AnImport", "import.go", "if p.o.MaxPools > 0 {", "if false {"),
	one("an import of any file goes on", "AnInterrupted", "import.go", "case state == sealImporting && m.record.file == m.mark:", "case state == sealImporting:"),
	one("beats keep their names", "Sealed", "seal.go", "				pipe.HSet(ctx, key, \"gen\", rand.Text()[:12])\n", ""),
	one("half an import is reopened", "AnInterrupted", "seal.go", "case sealExporting, sealExported:\n			if id", "case sealExporting, sealExported, sealImporting:\n			if id"),
	one("reopened while its file can be imported", "AnExport", "seal.go", "			if err := voided(); err != nil {\n				return err\n			}\n", ""),
	one("reopened with any file", "AnExport", "seal.go", "if id != \"\" && id != m.record.file {", "if false {"),
}
