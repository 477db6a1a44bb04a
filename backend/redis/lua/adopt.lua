-- adopt: gives the name space a new id. ARGV: new id, '1' to make one where there is none,
-- predecessors that are not in the record, '1' if missing pools may be created
-- -> EXISTS id | NOID | ADOPTED predecessors
local key, id, init, known, create = KEYS[1], ARGV[1], ARGV[2] == '1', ARGV[3], ARGV[4]
local fields = redis.call('HMGET', key, 'id', 'before')
if init and fields[1] then return {'EXISTS', fields[1]} end
if not init and not fields[1] then return {'NOID'} end
local before = fields[1] and fields[1] .. ' ' .. (fields[2] or '') or ''
if not string.find(' ' .. before .. ' ', ' ' .. known .. ' ', 1, true) then before = before .. ' ' .. known end
redis.call('HSET', key, 'id', id, 'before', before, 'create', create, 'lost', '0', 'beats', '') -- whatever beats are missing now may be missing
return {'ADOPTED', before}
