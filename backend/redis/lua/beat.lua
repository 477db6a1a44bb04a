-- beat: a sign of life of a proxy in the id record. ARGV: proxy, the new beat, the id under which it noticed
-- a loss of state ('' if it did not): after an adopt that is history
-- -> NOID | ID id predecessors may_create lost beat_before
--
-- Fields of the id record: id, before (predecessors, separated by spaces), create ('1': missing
-- pools may be created), lost ('1': a proxy noticed a loss), and 'b:' .. proxy, its last beat.
-- Not a call: it has no nonce, since repeating it does no harm.
local key = KEYS[1]
local time = redis.call('TIME')
local now = time[1] .. string.rep('0', 6 - #time[2]) .. time[2]
local mine = 'b:' .. ARGV[1]
local fields = redis.call('HMGET', key, 'id', 'before', 'create', 'lost', mine)
if not fields[1] then return {'NOID', now} end
-- The write of nothing first: no write after it is refused for want of memory, and this one needs none.
local refused = redis.pcall('HDEL', key, '!')
if type(refused) == 'table' and refused.err then return refused end
redis.call('HSET', key, mine, ARGV[2])
if fields[1] == ARGV[3] then
    redis.call('HSET', key, 'lost', '1')
    fields[4] = '1'
end
return {'ID', now, fields[1], fields[2] or '', fields[3] or '0', fields[4] or '0', fields[5] or ''}
