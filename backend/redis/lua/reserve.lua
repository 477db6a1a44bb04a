-- reserve: the name of a pool within its tenant, how many a tenant may have, a stamp
-- -> RESERVED | FULL | LATE
--
-- The hash has a field for each pool of a tenant, of those that were made under a limit. A
-- script touches one key only, so the name is noted before the pool is made. Who could not
-- make it then finds the name noted: nothing here has to be undone, or done once only. The stamp
-- keeps who drops the pool from taking the name off for somebody who is about to make it anew.
local name, limit, stamp = ARGV[4], tonumber(ARGV[5]), ARGV[6]
local noted = try('HEXISTS', key, name)
if type(noted) == 'table' then return noted end -- the key is somebody else's
if less(not_after, now) then return {'LATE', now} end
if noted == 0 and redis.call('HLEN', key) >= limit then return refusal() or {'FULL', now} end
return first('HSET', key, name, stamp) or {'RESERVED', now}
