-- look: the longest lease in ms
-- -> LEASE token ms user acquired_ms waiters | FREE waiters | STRANGE value | SEALED | LATE | GIVENUP
--
-- Tells who holds a lock and how many stand in line for it. It changes nothing; the nonce is for what every call has.
local fields = try('HMGET', key, 't', 'r', 'u', 'a', 'x', 'qn')
if fields.err then return fields end -- the key is somebody else's
if less(not_after, now) then return {'LATE', now} end
if fields[5] then return decline('SEALED') end
local last, retention = fields[1] or '0', fields[2]
local held, odd = lease(last, retention, ARGV[4])
if odd then return decline('STRANGE', odd) end
if not held then return decline('FREE', fields[6] or '0') end
return refusal() or {'LEASE', now, last, digits(redis.call('PTTL', key) - tonumber(retention)), fields[3] or '', fields[4] or '0', fields[6] or '0'}
