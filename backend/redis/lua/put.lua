-- put: makes a lock or a pool of an import, sealed until the import is complete. ARGV[4]: the mark of the import, then
-- 'pool', units, gen, capacity ('': unknown), or 'lease', token, ms, retention ms, acquired ms ('0': unknown), user ('': nobody)
-- -> PUT | TAKEN
local mark = ARGV[4]
local fields = redis.pcall('HMGET', key, 'n', 't', 'x')
if fields.err then return fields end -- the key is somebody else's
if (fields[1] or fields[2]) and fields[3] ~= mark then return {'TAKEN', now} end
local refused
if ARGV[5] == 'pool' then
    refused = first('HSET', key, 'n', ARGV[6], 'gen', ARGV[7], 'seq', '0', 'x', mark)
    if refused then return refused end
    if ARGV[8] ~= '' then redis.call('HSET', key, 'c', ARGV[8]) end
    redis.call('PERSIST', key) -- notes about calls may have made it mortal
    return {'PUT', now}
end
refused = first('HSET', key, 't', ARGV[6], 'r', ARGV[8], 'x', mark)
if refused then return refused end
if ARGV[9] ~= '0' then redis.call('HSET', key, 'a', ARGV[9]) end
if ARGV[10] ~= '' then redis.call('HSET', key, 'u', ARGV[10]) end
redis.call('PEXPIRE', key, digits(tonumber(ARGV[7]) + tonumber(ARGV[8])))
return {'PUT', now}
