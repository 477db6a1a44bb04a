-- seal: gives the id record a new id, a successor of the old one, and a new seal ('' takes it off). ARGV: the id and the
-- seal that are expected ('' for none), new id, new seal, greatest token of what was imported ('0': none), greatest
-- ttl in ms, '1' if missing pools may be created from now on ('': as before)
-- -> SEALED | CHANGED
--
-- A record with a seal stops every proxy that reads it. Without one the beats have other names than those listed. Not a
-- call: it changes nothing unless the record is as it was read.
local key, id, seal = KEYS[1], ARGV[3], ARGV[4]
local fields = redis.call('HMGET', key, 'id', 'before', 'sealed', 'floor', 'max_ttl')
if (fields[1] or '') ~= ARGV[1] or (fields[3] or '') ~= ARGV[2] then return {'CHANGED'} end
local before = fields[1] and fields[1] .. ' ' .. (fields[2] or '') or ''
redis.call('HSET', key, 'id', id, 'before', before, 'sealed', seal)
if not fields[1] then redis.call('HSET', key, 'lost', '0', 'create', '0') end
if seal == '' then redis.call('HSET', key, 'beats', '') end
if tonumber(fields[4] or '0') < tonumber(ARGV[5]) then redis.call('HSET', key, 'floor', ARGV[5]) end
if tonumber(fields[5] or '0') < tonumber(ARGV[6]) then redis.call('HSET', key, 'max_ttl', ARGV[6]) end
if ARGV[7] ~= '' then redis.call('HSET', key, 'create', ARGV[7]) end
return {'SEALED'}
