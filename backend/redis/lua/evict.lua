-- evict: retention ms for a lock without a plain one, server microseconds before which nothing is offered, answered nonces...
-- -> EVICTED token expires_ms acquired_ms waiters user | FREE | SEALED | LATE | GIVENUP
--
-- An operator ends the lease of whoever holds the lock; that of a lock with values that no script of ours writes, too,
-- of which nobody can tell whether it is held. The last token stays what it is. user begins with 'u'; its blanks
-- and percent signs are written as %XX, so that it is one word.
local fields = try('HMGET', key, 't', 'r', record, 'x', 'u', 'a', 'qn')
if fields.err then return fields end -- the key is somebody else's
local last, retention, answer, acquired, waiters = fields[1] or '0', fields[2], fields[3], fields[6] or '0', fields[7] or '0'
if answer then
    local said = words(answer)
    if said[2] == 'x' then return {'GIVENUP', now} end
    return {said[2], now, unpack(said, 3)}
end
if less(not_after, now) then return {'LATE', now} end
if fields[4] then return decline('SEALED') end

local held, odd = lease(last, retention, '9223372036854775807')
if not held and not odd then return decline('FREE') end
local known = retention and plain(retention)
local expires = known and redis.call('PTTL', key) - tonumber(retention) + now_ms or 0
local user = 'u' .. string.gsub(fields[5] or '', '[%s%%]', function(c) return string.format('%%%02X', string.byte(c)) end)
-- The write of nothing first: no write after it is refused, so a lock can be freed when there is no memory.
local refused = refusal()
if refused then return refused end
if not plain(last) then
    redis.call('HDEL', key, 't')
    last = '0'
end
free(known and retention or ARGV[4])
local told = {'EVICTED', last, expires > now_ms and digits(expires) or '0', acquired, waiters, user}
redis.call('HSET', key, record, not_after .. ' ' .. table.concat(told, ' '))
forget(6)
if fields[7] then line().offer(ARGV[5]) end
return {told[1], now, unpack(told, 2)}
