package main

import "time"

// Groups of tests.
const (
	locks         = "TestConformance$/^(lock|token)$"
	pools         = "TestConformance$/^(inventory|names)$/(count|restock|claim|capacity|pool)"
	limits        = "TestConformance$/^limit$"
	racing        = "TestConformance$/^concurrent$"
	names         = "TestConformance$/^names$|TestNames"
	repeated      = "Dropped|Duplicated|Copy|Repeated|Time"
	cancelled     = "Cancelled|Doubt|AfterItsLease|TooLate"
	outage        = "Gone|ReplicaIsNot|Demoted"
	moved         = "Sealed|AnExport|AnInterrupted|AnImport|MovingThere|FloorIsShared|CallThatTheExport|WhatIsNotCertain"
	strangeLeases = "NobodyOfOursGranted|ThatIsStrange|OfAnyProxy"
	judged        = "NotTheOneThatWasJudged|TheLastJudgement"
	loss          = "AOF|Lost|Adopt|Wiped|Notic|PoolThat|Failover|Restart|OwnCount"
)

// redis are faults of the store in Redis and of its scripts.
var redis = &suite{
	name: "redis", dir: "backend/redis", pkg: "./backend/redis",
	args:     []string{"-rapid.nofailfile"},
	patience: 3 * time.Minute,
	rows: []mutant{
		{"nonce dropped", "lua/prelude.lua", "local record = '!' .. nonce", "local record = '!' .. table.concat(redis.call('TIME'))", repeated},
		{"nonce new per retry", "call.go", "	c.notAfter = s.clock.now() +", "	c.nonce = s.nonce()\n	c.notAfter = s.clock.now() +", repeated},
		{"nonce expired early", "lua/prelude.lua", "local ORPHAN_US = 60000000", "local ORPHAN_US = -1000000000", "Dropped$"},
		{"nonce of a repeated call dropped by the next one", "call.go", "if !c.copied && r.changed() {", "if r.changed() {", "OtherCalls"},
		{"a copy between the grant and the answer is a new call", "lua/acquire.lua", "if less(said[1], not_after) then\n", "if false then\n", "BetweenTheGrant"},
		{"a copy that is newer than what was settled is a new call", "lua/settle.lua", "        redis.call('HSET', key, record, not_after .. ' GRANTED ' .. said[3] .. ' ' .. said[4])\n", "", "BetweenTheGrant"},
		{"answered nonces never dropped", "lua/prelude.lua", "for i = from, #ARGV do redis.call('HDEL', key, '!' .. ARGV[i]) end", "", "RecordStays"},
		{"orphans never dropped", "lua/prelude.lua", "if until_us + ORPHAN_US < tonumber(now) then", "if false then", "NobodyComes"},
		{"refused answers of retries not kept", "lua/prelude.lua", "if not copied then return", "if true then return", "CopyOfA"},
		{"retries not told apart", "call.go", "if c.copied {\n		copied = \"1\"", "if false {\n		copied = \"1\"", "CopyOfA"},
		{"not_after ignored: claim", "lua/claim.lua", "if less(not_after, now) then", "if false then", "AfterItsTime"},
		{"a settled nonce leaves no tombstone", "lua/settle.lua", "    redis.call('HSET', key, record, gone)\n    keep()\n", "", "GivenUp"},
		{"a late copy of a released acquire is granted", "lua/acquire.lua", "if not less(said[1], not_after) then", "if false then", "ReleasedAcquire"},
		{"a lease that is over is handed out again", "lua/acquire.lua", "if held and said[3] == last then", "if true then", "NotHandedOut"},
		{"a cancelled grant is not undone", "lua/settle.lua", "    if held then free(retention) end\n", "", cancelled},
		{"a cancelled claim is not undone", "lua/settle.lua", "if undo and said[2] == 'CLAIMED' and units then", "if false then", cancelled},
		{"an applied release is said to be nothing", "settle.go", "if cancelled && (was.changed()", "if cancelled && (false", cancelled},
		{"what was written is taken for unsent", "call.go", "c.copied = true\n", "", cancelled + "|InDoubt"},
		{"an answer after the lease is delivered", "lock.go", "|| time.Since(sent) < ttl {", "|| time.Since(sent) >= 0 {", cancelled},
		{"a late grant is not released", "lock.go", "if _, err := s.release(ctx, id, key, grant.Token); err != nil {", "if false {", "NotDelivered"},

		{"pools of a tenant not counted", "lua/reserve.lua", "if redis.call('HLEN', key) >= limit then", "if false then", limits},
		{"one pool more than the limit", "lua/reserve.lua", "redis.call('HLEN', key) >= limit", "redis.call('HLEN', key) > limit", limits},
		{"a pool counts each time", "lua/reserve.lua", "if noted == 1 then", "if false then", limits + "|NotedOnly"},
		{"pools made before they are counted", "inventory.go", "n, capacity, !limited)", "n, capacity, true)", limits},
		{"pools counted by branch", "inventory.go", "tenantKey(s.opts.Namespace, scope.Tenant)", "tenantKey(s.opts.Namespace, scope.Tenant+scope.Repository+scope.Branch)", limits},

		{"token = now only", "lua/acquire.lua", "math.max(tonumber(last) + 1, tonumber(now), tonumber(floor) + 1)", "tonumber(now)", locks + "|Tokens"},
		{"token = last + 1 only", "lua/acquire.lua", "math.max(tonumber(last) + 1, tonumber(now), tonumber(floor) + 1)", "tonumber(last) + 1", locks},
		{"token without the floor", "lua/acquire.lua", ", tonumber(floor) + 1)", ")", "Tokens"},
		{"token concatenated as a Lua number", "lua/prelude.lua", "return string.format('%.0f', number)", "return number .. ''", locks},
		{"token unbounded", "lua/acquire.lua", "if token >= 9007199254740992 then", "if false then", "TokensEnd"},
		{"tokens at once after a restart", "watch.go", "w.clock.floor()+w.opts.MaxClockSkew.Microseconds()", "0", "ClockIsPast"},

		{"acquire takes a live lease over", "lua/acquire.lua", "if held then return decline", "if false then return decline", locks},
		{"renew revives", "lua/renew.lua", "if not (token == last and held) then", "if not (token == last) then", locks},
		{"renew without comparing", "lua/renew.lua", "token == last and ", "", locks},
		{"renew shortens", "lua/renew.lua", "if end_ms > redis.call('PTTL', key) then", "if true then", locks},
		{"release without comparing", "lua/release.lua", "token == last and ", "", locks},
		{"release after expiry", "lua/release.lua", "token == last and held", "token == last and retention", locks},
		{"release frees by the clock only", "lua/prelude.lua", "redis.call('HDEL', key, 'r')\n", "", "Tokens"},
		{"expiry only by Redis's own", "lua/prelude.lua", "redis.call('PTTL', key) > tonumber(retention)", "true", locks},
		{"the last token is forgotten", "lua/acquire.lua", "tonumber(ttl) + tonumber(retention)", "tonumber(ttl)", "TestARecord|Immortal"},
		{"keys live for ever", "lua/prelude.lua", "redis.call('PEXPIRE', key, retention)", "redis.call('PERSIST', key)", "Keyspace"},

		{"comparison as doubles", "lua/prelude.lua", "    if #a ~= #b then return #a < #b end\n    return a < b", "    return tonumber(a) < tonumber(b)", pools},
		{"comparison of bytes only", "lua/prelude.lua", "    if #a ~= #b then return #a < #b end\n", "", pools},
		{"overflow is an outage", "lua/restock.lua", "if string.find(refused.err, 'overflow', 1, true) then", "if false then", pools},
		{"a sold-out pool is made anew", "lua/claim.lua", "if not units then", "if not units or units == '0' then", pools},
		{"a note makes a pool mortal", "lua/claim.lua", "redis.call('PERSIST', key)", "do end", "NotesOnly"},

		{"names not escaped", "key.go", "c <= ' ' || c == 0x7f || c == '%' || c == ':' || c == '{' || c == '}'", "c == 0x7f", names},
		{"tenant left out", "key.go", "{scope.Tenant, scope.Repository, scope.Branch, name}", "{scope.Repository, scope.Branch, name}", names},

		{"outage reported as false", "lock.go", "	}})\n	if err != nil {\n		return backend.Grant{}, err\n	}", "	}})\n	if err != nil {\n		return backend.Grant{}, nil\n	}", outage},
		{"a script that failed in the middle did nothing", "errors.go", "return broken", "return refused", "InTheMiddle"},
		{"a failed dial is in doubt", "errors.go", "case errors.As(err, &notSent), ", "case errors.As(err, &notSent) && false, ", outage},
		{"a replica's refusal counts", "lua/prelude.lua", "local function refusal() return first('HDEL', key, '!') end", "local function refusal() end", outage},
		{"out of memory is an outage", "errors.go", `"OOM"`, `"MOO"`, "WithoutMemory"},
		{"no release without memory", "lua/release.lua", "local refused = refusal()\nif refused then return refused end\nfree(retention)\nredis.call('HSET', key, record, not_after .. ' YES')", "local refused = first('HSET', key, record, not_after .. ' YES')\nif refused then return refused end\nfree(retention)", "WithoutMemory"},
		{"scripts never sent again", "call.go", "eval = true\n", "", "Forgotten"},
		{"redirects not followed", "call.go", "at, asking = s.redirect(ctx, err)", "", "Slots"},
		{"asked without ASKING", "call.go", "return s.servers.at(ctx, addr), true", "return s.servers.at(ctx, addr), false", "Slots"},
		{"WAIT ignored", "call.go", "if r.short && answer.changed() {", "if false {", "WaitForReplicas"},
		{"a late answer is taken for a refusal", "call.go", "c.copied = true\n", "", "WhoseAnswerIsLate"},
		{"any eviction policy will do", "watch.go", `if s.policy != "noeviction" {`, "if false {", "MayEvict"},

		{"the seq check removed", "lua/claim.lua", "or less(seq, known_seq)", "", loss},
		{"the gen check removed", "lua/claim.lua", "or gen ~= known_gen ", "", loss},
		{"a missing pool is made anew", "lua/claim.lua", "not units or gen ~= known_gen or", "units and (gen ~= known_gen) or units and", loss},
		{"the replid check removed", "watch.go", "if from.Offset < s.second {", "if true {", "Lagging"},
		{"a predecessor that is named once more is a loss", "watch.go", "		if !ok || by.addr == addr {\n", "		if ok = ok && by.addr == addr; true {\n", "OnceMore"},
		{"a predecessor gets a beat", "watch.go", "		delete(samples, addr)\n", "", "OnceMore"},
		{"a predecessor that stays is no loss", "watch.go", "time.Since(by.seen) > succession", "false", "OnceMore"},
		{"offsets not sampled along with the calls", "watch.go", "n.Offset = max(n.Offset, acknowledged(info, w.opts.WaitReplicas))", "", "AlongWith"},
		{"a restart without AOF is no loss", "watch.go", "if restarted && !s.aof && w.replaced(addr, all, failed) {", "if false {", "WithoutAOF"},
		{"beats not compared", "beat.go", "case ok && b.Last < known.Last &&", "case false &&", "OldAOF"},
		{"another id is taken", "beat.go", `if seen != "" {`, "if false {", "Wiped|Adopt"},
		{"pools are created after every adopt", "lua/claim.lua", "if not create then", "if false then", "WithoutAOFStops|Wiped"},
		{"a loss is forgotten over a restart", "statefile.go", "json:\"lost,omitempty\"", "json:\"-\"", "OverARestart"},
		{"a loss stays with who noticed it", "lua/id.lua", "if fields[1] == ARGV[1] and lost ~= '1' then", "if false then", "StopsTheOthers"},
		{"locks go on after a loss", "evidence.go", "if !w.opts.ContinueOnLoss && time.Now()", "if false && time.Now()", "WithoutAOFStops"},
		{"unknown servers are taken as they are", "watch.go", "case !w.knows(s):", "case !w.knows(s) && false:", "NotLookedAt"},

		{"what waits in the queue is sent whatever was judged since", "lane.go", "if r.epoch != 0 && r.epoch != epoch {", "if false {", judged},
		{"a new connection carries what is out of date", "watch.go", "case w.judgedAnew(epochOf(ctx)):", "case false:", judged},
		{"another process is taken for the one that was judged", "lua/prelude.lua", "if not string.find(server, ", "if not string.find('\\nrun_id:' .. run .. '\\r', ", judged},
		{"another history is taken for the one that was judged", "lua/prelude.lua", "if not string.find(replication, ", "if not string.find('\\nmaster_replid:' .. repl .. '\\r', ", judged},
		{"a beat made anew is taken for the old one", "lua/prelude.lua", "if gen[1] ~= name then", "if false then", judged},
		{"pools are made without looking at the beat", "lua/prelude.lua", "if not gen[1] then return refusal() or {'NOBEAT', now} end", "if not gen[1] then return end", judged + "|WipedRedis"},
		{"a pool that is gone is said never to have been", "lua/restock.lua", "if not_yet then", "if false then", judged + "|WipedRedis"},
		{"locks without a token are granted unjudged", "lua/acquire.lua", "if last == '0' then", "if false then", judged + "|WipedRedis"},
		{"a missing beat is made in silence", "lua/beat.lua", "if make == '' then", "if false then", "ANewProxyMisses|OneShard"},
		{"beats that others have made are not missed", "beat.go", `; !known && listed == ""`, "; !known", "ANewProxyMisses"},
		{"units that nobody writes are taken", "lua/prelude.lua", "return units and not (plain(units) and plain(seq))", "return false", "UnitsThat"},
		{"a server that is too old is taken", "store.go", "err = old // nor will it do later", "_ = old", "LacksACommand"},
		{"a lease without end is taken for none", "lua/prelude.lua", "if alive < 0 then", "if false then", strangeLeases},
		{"a lease of any length is taken", "lua/prelude.lua", "if left > tonumber(longest) then", "if false then", strangeLeases},
		{"a retention that nobody writes is taken", "lua/prelude.lua", "if not plain(retention) then", "if false then", strangeLeases},
		{"a last token that nobody writes is taken", "lua/prelude.lua", "if not plain(last) then", "if false then", strangeLeases},
		{"strange leases: acquire", "lua/acquire.lua", "if odd then", "if false then", strangeLeases},
		{"strange leases: renew", "lua/renew.lua", "if odd then", "if false then", strangeLeases},
		{"strange leases: release", "lua/release.lua", "if odd then", "if false then", strangeLeases},
		{"a note ends a strange lock", "lua/prelude.lua", " and redis.call('HEXISTS', key, 't') == 0 then", " then", strangeLeases},
		{"a greater max_ttl of another proxy is not asked for", "lock.go", "s.watch.sawLongest(r.maxTTL)", "", strangeLeases},
		{"a sealed pool is sold", "lua/claim.lua", "if fields[5] then return decline('SEALED') end", "", "Sealed"},
		{"a sealed pool is restocked", "lua/restock.lua", "if fields[5] then return decline('SEALED') end", "", "Sealed"},
		{"a sealed lock is granted", "lua/acquire.lua", "if fields[4] then return decline('SEALED') end", "", "Sealed"},
		{"a sealed lock is renewed", "lua/renew.lua", "if fields[4] then return decline('SEALED') end", "", "Sealed"},
		{"a sealed lock is released", "lua/release.lua", "if fields[4] then return decline('SEALED') end", "", "Sealed"},
		{"new pools beside an export", "lua/prelude.lua", "    if gen[2] then return decline('SEALED') end\n", "", "Sealed"},
		{"an exported claim is undone", "lua/settle.lua", "if fields[5] then undo = false end", "", "CallThatTheExport"},
		{"an export leaves no marks", "lua/take.lua", "redis.call('HSET', key, 'x', mark)\n", "", "Sealed|AnExport"},
		{"an export leaves the beats", "export.go", "if err := m.sealBeats(ctx); err != nil {\n		return moving.Totals{}, err\n	}\n", "", "Sealed"},
		{"a second export is not asked about", "export.go", "if !again {", "if false {", moved},
		{"a key that comes twice is written twice", "lua/take.lua", "if fields[5] == mark then return {'SEEN', now} end", "", "ComesTwice"},
		{"an export of lost state", "seal.go", "case m.record.lost:", "case false:", "WhatIsNotCertain"},
		{"an export does not look at the beats", "export.go", "for key := range m.state.Beats {", "for key := range map[string]bool{} {", "WhatIsNotCertain"},
		{"an export without the floor", "export.go", "greatest := max(m.record.floor, m.state.Floor)", "greatest := int64(0)", "FloorIsShared"},
		{"the floor stays with its proxy", "lua/id.lua", "    redis.call('HSET', key, 'floor', ARGV[4])\n", "", "FloorIsShared"},
		{"the floor of others is not read", "beat.go", "	s.clock.see(0, min(floor, backend.MaxToken-1))\n", "	_ = floor\n", "FloorIsShared"},
		{"an import without the tokens of the file", "import.go", "max(m.record.floor, from.Totals.GreatestToken)", "m.record.floor", "AnInterrupted|MovingThere"},
		{"half an import is served", "lua/put.lua", "'seq', '0', 'x', mark)", "'seq', '0')", "AnInterrupted"},
		{"a proxy does not look for a seal", "watch.go", "		w.sealed = r.seal\n", "", "AnInterrupted|Sealed"},
		{"an import writes again what is served", "import.go", "if m.record.state != sealOpening {", "if true {", "AnInterrupted"},
		{"an import into what is there", "import.go", "if err == nil && len(found) > 0 {", "if false {", "AnImport"},
		{"an import over other keys without an id", "import.go", "case !empty:", "case !empty && false:", "AnImport"},
		{"an import does not count its pools", "import.go", "if p.o.MaxPools > 0 {", "if false {", "AnImport"},
		{"an import of any file goes on", "import.go", "case state == sealImporting && m.record.file == m.mark:", "case state == sealImporting:", "AnInterrupted"},
		{"beats keep their names", "seal.go", "				pipe.HSet(ctx, key, \"gen\", rand.Text()[:12])\n", "", "Sealed"},
		{"half an import is reopened", "seal.go", "case sealExporting, sealExported:\n			if id", "case sealExporting, sealExported, sealImporting:\n			if id", "AnInterrupted"},
		{"reopened while its file can be imported", "seal.go", "			if err := voided(); err != nil {\n				return err\n			}\n", "", "AnExport"},
		{"reopened with any file", "seal.go", "if id != \"\" && id != m.record.file {", "if false {", "AnExport"},

		{"a clock beyond all tokens is believed", "servertime.go", "return micros < backend.MaxToken", "return micros < backend.MaxToken || micros > 0", "ClockFar"},
		{"tokens are made of a clock beyond them", "lua/prelude.lua", "then return {'CLOCK', now} end", "then do end end", "ClockFar"},
		{"a pause is forgotten over a restart", "statefile.go", "json:\"paused,omitzero\"", "json:\"-\"", "OutlivesTheProxy"},
		{"a loss is told before it is saved", "watch.go", "if !unsaved {", "if !unsaved || true {", "OutlivesTheProxy|ThatACallNotices"},
		{"a second loss is nothing", "watch.go", "if w.state.Lost != \"\" && ", "if w.state.Lost != \"\" || ", "ASecond"},
		{"two proxies share a state file", "statelock.go", "syscall.LOCK_EX|", "syscall.LOCK_SH|", "OfOneProxyOnly"},
		{"a floor beyond all tokens is taken", "statefile.go", "if old.Floor >= backend.MaxToken {", "if old.Floor < -backend.MaxToken {", "FloorBeyond"},
		{"what no replica has counts as acknowledged", "sample.go", "if wait == 0 {", "if true {", "PlannedFailover"},
		{"a missing pool is said never to have been", "inventory.go", "if !mayCreate { // so", "if false && mayCreate { // so", "WithoutAOFStops"},
		{"a failed handshake is in doubt", "dial.go", "c.ready = c.asked", "c.ready = true", "NeverEnds"},
	},
	special: []special{
		{
			mutant: mutant{"claim in two calls", "lua/claim.lua", "elseif less(units, n) then", "elseif false then", racing},
			also: []edit{
				{"lua/claim.lua", "if not less(units, n) then", "if true then"},
				{"inventory.go", "	gen := rand.Text()[:12]\n",
					"	gen := rand.Text()[:12]\n	look, err := s.do(ctx, &call{script: restockScript, key: id, judge: s.watch.counts, args: func(e evidence) []any {\n		seen := s.known.pool(id)\n		return []any{0, seen.gen, seen.seq, e.judged}\n	}})\n	if err == nil && look.word == \"RESTOCKED\" && look.int(0) < n {\n		look.word = \"SHORT\"\n		return look, false, nil\n	}\n"},
			},
		},
		{
			mutant: mutant{"evidence taken once for a call", "call.go", "	forget []string // nonces that were answered\n", "	forget []string // nonces that were answered\n	first  *evidence\n", "CallsThatWait|ClockWentBack"},
			also: []edit{
				{"call.go", "		if e, err = c.judge(addr); err != nil {\n			return nil, err\n		}\n",
					"		if c.first != nil {\n			e = *c.first\n		} else if e, err = c.judge(addr); err != nil {\n			return nil, err\n		}\n		e.epoch, c.first = 0, &e\n"},
			},
		},
	},
}
