-- Before every script of this folder. KEYS[1] is the one hash that a script touches.
--
-- Lua numbers are doubles, so counts and tokens are strings here: compared by length
-- and bytes, added by HINCRBY, never by Lua. What Lua does calculate, microseconds
-- and milliseconds, stays below 2^53.
--
-- Of a call ARGV[1] is its nonce, ARGV[2] its not_after in server microseconds, ARGV[3] '1' if an
-- earlier copy of it may still be on its way. A reply is {word, server microseconds, ...}.
--
-- The field '!' .. nonce of the hash is what the call was answered, as "not_after word ...", or
-- "not_after x" for a call that was given up: then no copy of it may do anything.
--
-- The field x of a lock, a pool or a beat seals it: an export has told what it is, or an import is not
-- complete. Calls are SEALED then and change nothing; on a sealed beat's master nothing new is made.
--
-- Scripts of locks have queue.lua after this one. Whoever ends a lease of a lock with a field qn offers it then to those
-- who wait: see offer there.

local key, nonce, not_after, copied = KEYS[1], ARGV[1], ARGV[2], ARGV[3] == '1'
local record = '!' .. nonce
local ORPHAN_US = 60000000 -- how long after its not_after an answer nobody asked for is kept

local function digits(number) return string.format('%.0f', number) end

-- try is redis.pcall, with errors that begin with their word. Redis 6.2 puts the place in the script before some, and
-- gives some as they go over the wire.
local function try(...)
    local reply = redis.pcall(...)
    if type(reply) == 'table' and reply.err then
        reply.err = string.match(string.gsub(reply.err, '^@user_script: %d+: ', ''), '^%-?([^\r\n]*)')
    end
    return reply
end

local time = redis.call('TIME')
local now = time[1] .. string.rep('0', 6 - #time[2]) .. time[2]
local now_ms = math.floor(tonumber(now) / 1000)

-- Whoever works with this time makes tokens and deadlines that nothing can pass.
if #now > 16 or #now == 16 and now >= '9007199254740992' then return {'CLOCK', now} end

-- less compares two decimal integers, neither negative nor with leading zeros.
local function less(a, b)
    if #a ~= #b then return #a < #b end
    return a < b
end

-- plain tells whether text is a whole number from 0 on as Redis writes it. To less, which knows no others,
-- '-3' or '07' would be any number at all.
local function plain(text) return text == '0' or string.find(text, '^[1-9]%d*$') and not less('9223372036854775807', text) end

-- strange tells whether a pool has values that no script of ours writes. capacity is '' or not given if it is unknown.
local function strange(units, seq, capacity)
    return units and not (plain(units) and plain(seq) and ((capacity or '') == '' or plain(capacity)))
end

-- matches tells whether a pool that is not there may be made, see claim.lua.
local function matches(making, seq) return making == '*' or making == seq end

local function words(text)
    local list = {}
    for word in string.gmatch(text, '%S+') do list[#list + 1] = word end
    return list
end

-- first is the first write of a script. If Redis refuses it (no memory, a replica, a full disk)
-- that is the script's reply and nothing has changed. What a script writes after it is not refused.
local function first(...)
    local reply = try(...)
    if type(reply) == 'table' and reply.err then return reply end
end

-- refusal is for answers that write nothing: a write of nothing, which a server that is no
-- master or cannot write refuses. Its data may be old: no answer may rest on it.
local function refusal() return first('HDEL', key, '!') end

-- live tells whether the lock has a holder; retention is its field r. A key lives for lease +
-- retention: no deadline is stored, because MIGRATE carries times to live but not clocks.
local function live(retention) return retention and redis.call('PTTL', key) > tonumber(retention) end

-- lease is live, for a lock that anybody may have written to: of one with values that no script of ours
-- writes nothing can be told, and the second result says what they are. longest is the greatest max_ttl, in ms,
-- that any proxy ever had.
local function lease(last, retention, longest)
    if not plain(last) then return nil, 't=' .. last end
    if not retention then return false end
    if not plain(retention) then return nil, 'r=' .. retention end
    local alive = redis.call('PTTL', key)
    if alive < 0 then return nil, 'ttl=-1' end
    local left = alive - tonumber(retention)
    if left > tonumber(longest) then return nil, 'lease=' .. digits(left) end
    return left > 0
end

-- proves tells whether somebody who shows a token and says to be a user holds a lease, if it runs. A lease of nobody
-- is everybody's: the version that granted it kept no holders.
local function proves(token, user, last, holder) return token == last and (not holder or holder == user) end

-- free ends a lease. Without r no step of the clock makes it a live one again.
local function free(retention)
    redis.call('PEXPIRE', key, retention)
    redis.call('HDEL', key, 'r', 'u', 'a')
end

-- keep makes a hash that holds notes only, no lock, no pool and none that was dropped, go away by itself.
local function keep()
    if redis.call('PTTL', key) == -1 and redis.call('HEXISTS', key, 'gen') == 0 and redis.call('HEXISTS', key, 'n') == 0 and redis.call('HEXISTS', key, 't') == 0 then
        redis.call('PEXPIRE', key, digits(math.max(tonumber(not_after) - tonumber(now), 0) / 1000 + ORPHAN_US / 1000))
    end
end

-- decline is an answer that changes nothing. It is noted if an earlier copy of the call may still be
-- on its way: that one must not do later what its caller was told is not done.
local function decline(...)
    local reply = {...}
    if not copied then return refusal() or {reply[1], now, unpack(reply, 2)} end
    local refused = first('HSET', key, record, not_after .. ' ' .. table.concat(reply, ' '))
    if refused then return refused end
    keep()
    return {reply[1], now, unpack(reply, 2)}
end

-- unjudged is for what would be wrong on a server without its data: making a pool, granting a lock without a
-- token. It gives an answer unless this process with this history is the one that the proxy has judged
-- (a connection proves neither) and the beat that tells of its data is still there. It changes nothing.
-- judged is 'run_id replid beat key-of-the-beat'. That key is read without being declared: it is on this
-- master, but seldom in the slot of the script's own key.
local function unjudged(judged)
    local run, repl, name, beat = string.match(judged, '^(%S+) (%S+) (%S+) (.*)$')
    if not run then return {'JUDGE', now} end
    local server, replication = try('INFO', 'server'), try('INFO', 'replication')
    if type(server) == 'table' then return server end
    if type(replication) == 'table' then return replication end
    if not string.find(server, '\nrun_id:' .. run .. '\r', 1, true) then return {'JUDGE', now} end
    if not string.find(replication, '\nmaster_replid:' .. repl .. '\r', 1, true) then return {'JUDGE', now} end
    local gen = try('HMGET', beat, 'gen', 'x')
    if gen.err then return {err = 'TRYAGAIN the beat of this master cannot be read: ' .. gen.err} end
    if gen[2] then return decline('SEALED') end
    if not gen[1] then return refusal() or {'NOBEAT', now} end
    if gen[1] ~= name then return {'JUDGE', now} end
end

-- forget drops the answers that have arrived, whose nonces are ARGV[from] and on, and of
-- a record that has grown a few that nobody came for.
local function forget(from)
    for i = from, #ARGV do redis.call('HDEL', key, '!' .. ARGV[i]) end
    if redis.call('HLEN', key) <= 16 or redis.call('HEXISTS', key, 'qn') == 1 then return end -- a line is no orphans
    local sample = redis.call('HRANDFIELD', key, 4, 'WITHVALUES')
    for i = 1, #sample, 2 do
        if string.sub(sample[i], 1, 1) == '!' and sample[i] ~= record then
            local until_us = tonumber(string.match(sample[i + 1], '^%d+') or '0')
            if until_us + ORPHAN_US < tonumber(now) then redis.call('HDEL', key, sample[i]) end
        end
    end
end
