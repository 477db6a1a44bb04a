-- reserve: the name of a pool within its tenant, how many a tenant may have
-- -> RESERVED | FULL
--
-- The hash has a field for each pool of a tenant, of those that were made under a limit. A
-- script touches one key only, so the name is noted before the pool is made. Who could not
-- make it then finds the name noted: nothing here has to be undone, or done once only.
local name, limit = ARGV[4], tonumber(ARGV[5])
local noted = try('HEXISTS', key, name)
if type(noted) == 'table' then return noted end -- the key is somebody else's
if noted == 1 then return refusal() or {'RESERVED', now} end
if redis.call('HLEN', key) >= limit then return refusal() or {'FULL', now} end
return first('HSET', key, name, '') or {'RESERVED', now}
