-- take: seals a lock or a pool, and tells what it was then. ARGV[4]: the mark of the export that takes it
-- -> POOL units capacity | LEASE token ms acquired_ms user | FREE token | NOTES | SEEN | STRANGE value
--
-- From then on no call changes it: a call is applied before it is told here, or refused. An earlier
-- export's mark is replaced, and the key told again.
local mark = ARGV[4]
local fields = redis.pcall('HMGET', key, 'n', 'seq', 't', 'r', 'x', 'c', 'u', 'a')
if fields.err then return fields end -- the key is somebody else's
local units, token, retention, capacity = fields[1], fields[3], fields[4], fields[6] or ''
if fields[5] == mark then return {'SEEN', now} end
if strange(units, fields[2] or '0', capacity) then return {'STRANGE', now, units, fields[2] or '0', capacity} end
if not units and not token then return {'NOTES', now} end
if token and (not string.find(token, '^[1-9]%d*$') or not less(token, '9007199254740992')) then return {'STRANGE', now, token} end
local held = live(retention)
local left = held and redis.call('PTTL', key) - tonumber(retention)
-- The write of nothing first: no write after it is refused for want of memory.
local refused = refusal()
if refused then return refused end
redis.call('HSET', key, 'x', mark)
if units then return {'POOL', now, units, capacity} end
if held then return {'LEASE', now, token, digits(left), fields[8] or '0', fields[7] or ''} end
return {'FREE', now, token}
