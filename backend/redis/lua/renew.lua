-- renew: token, ttl ms, the longest lease in ms, user, answered nonces...
-- -> YES token | NO token | STRANGE value | SEALED | LATE | GIVENUP
local token, ttl, longest, user = ARGV[4], tonumber(ARGV[5]), ARGV[6], ARGV[7]
local fields = try('HMGET', key, 't', 'r', record, 'x', 'u')
if fields.err then return fields end -- the key is somebody else's
local last, retention, answer = fields[1] or '0', fields[2], fields[3]
if answer then
    local said = words(answer)
    if said[2] == 'x' then return {'GIVENUP', now} end
    return {said[2], now, said[3] or last}
end
if less(not_after, now) then return {'LATE', now} end
if fields[4] then return decline('SEALED') end

local held, odd = lease(last, retention, longest)
if odd then return decline('STRANGE', odd) end
if not (proves(token, user, last, fields[5]) and held) then return decline('NO', last) end
-- The write of nothing first: no write after it is refused, so a holder keeps the lock when there is no memory.
local refused = refusal()
if refused then return refused end
local end_ms = ttl + tonumber(retention)
if end_ms > redis.call('PTTL', key) then redis.call('PEXPIRE', key, digits(end_ms)) end
redis.call('HSET', key, record, not_after .. ' YES')
forget(8)
return {'YES', now, last}
