-- release: token, answered nonces...
-- -> YES token | NO token | SEALED | LATE | GIVENUP
local token = ARGV[4]
local fields = redis.pcall('HMGET', key, 't', 'r', record, 'x')
if fields.err then return fields end -- the key is somebody else's
local last, retention, answer = fields[1] or '0', fields[2], fields[3]
if answer then
    local word = words(answer)[2]
    if word == 'x' then return {'GIVENUP', now} end
    return {word, now, last}
end
if less(not_after, now) then return {'LATE', now} end
if fields[4] then return decline('SEALED') end

if not (token == last and live(retention)) then return decline('NO', last) end
-- The write of nothing first: no write after it is refused, so a lock can be released when there is no memory.
local refused = refusal()
if refused then return refused end
free(retention)
redis.call('HSET', key, record, not_after .. ' YES')
forget(5)
return {'YES', now, last}
