-- beat: a sign of life of a proxy in the beat of one master. ARGV: proxy, the new beat, the name of a beat
-- that is made if there is none ('': none is made)
-- -> GONE | MADE name | BEAT name beat_before | SEALED | LACKS command error
--
-- Fields of a beat: gen, its random name, 'b:' .. proxy, the last one of each proxy, and x, see prelude.lua.
-- Not a call: it has no nonce, since repeating it does no harm.
local key, mine, make = KEYS[1], 'b:' .. ARGV[1], ARGV[3]
local time = redis.call('TIME')
local now = time[1] .. string.rep('0', 6 - #time[2]) .. time[2]
-- The newest command that the scripts need. They would fail in the middle without it.
local newest = redis.pcall('HRANDFIELD', key, 1, 'WITHVALUES')
if newest.err then return {'LACKS', now, 'HRANDFIELD', newest.err} end
local fields = redis.call('HMGET', key, 'gen', mine, 'x')
-- The write of nothing first: no write after it is refused for want of memory, and a replica refuses this one.
local refused = redis.pcall('HDEL', key, '!')
if type(refused) == 'table' and refused.err then return refused end
if fields[3] then return {'SEALED', now} end
if fields[1] then
    redis.call('HSET', key, mine, ARGV[2])
    return {'BEAT', now, fields[1], fields[2] or ''}
end
if make == '' then return {'GONE', now} end
redis.call('HSET', key, 'gen', make, mine, ARGV[2])
return {'MADE', now, make}
