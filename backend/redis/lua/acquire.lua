-- acquire: ttl ms, retention ms, floor, server microseconds before which nothing is granted, what was judged,
-- the longest lease in ms, user ('': nobody), how long it may wait in ms, how many may, answered nonces...
-- -> GRANTED token expires_ms | HELD token | STRANGE value | EXHAUSTED | EARLY | JUDGE | NOBEAT | SEALED | LATE | GIVENUP
-- | QUEUED ms (when to ask again at the latest) why (HELD or EARLY) | FULL | MORE (to be sent again at once)
--
-- Fields of a lock: t its last token; and while it is not released r the retention that it was granted with, u its
-- holder, if somebody keeps that, a when it was granted, in ms. Those of its line are told in queue.lua.
local ttl, retention, floor, earliest, judged, longest, user = ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8], ARGV[9], ARGV[10]
local wait, most = ARGV[11], ARGV[12]
local fields = try('HMGET', key, 't', 'r', record, 'x', 'qn')
if fields.err then return fields end -- the key is somebody else's
local last, answer = fields[1] or '0', fields[3]
local held, odd = lease(last, fields[2], longest)

if answer then
    local said = words(answer)
    if said[2] == 'x' then return {'GIVENUP', now} end
    if said[2] ~= 'GRANTED' then return {said[2], now, said[3]} end
    if held and said[3] == last then
        -- Between the copy that was granted the lease and this one there may be others on their way. From now on
        -- they are older than the one that was answered.
        if less(said[1], not_after) then
            local refused = refusal()
            if refused then return refused end
            redis.call('HSET', key, record, not_after .. ' GRANTED ' .. said[3] .. ' ' .. said[4])
        end
        return {'GRANTED', now, said[3], said[4]}
    end
    -- A lease that is over is never handed out again. A newer copy than the one that was answered is
    -- waited for, and is a new call; an older one is not: its caller may have had the lease, and released it.
    if not less(said[1], not_after) then return {'GIVENUP', now} end
end
if less(not_after, now) then return {'LATE', now} end
if fields[4] then return decline('SEALED') end

if odd then return decline('STRANGE', odd) end

-- What a call is told that waits is not final, and is not noted under its nonce: a later copy, of the same nonce, takes its turn.
if held then
    if wait == '0' then return decline('HELD', last) end
    local left, queue = redis.call('PTTL', key) - tonumber(fields[2]), line()
    local refused = queue.stand(nonce, wait, most)
    if refused then return refused end
    queue.outlive(fields[2])
    return {'QUEUED', now, digits(left), 'HELD'}
end
if less(now, earliest) then
    if wait == '0' then return decline('EARLY') end
    local queue = line()
    local refused = queue.stand(nonce, wait, most)
    if refused then return refused end
    queue.keep_line()
    return {'QUEUED', now, queue.ms_until(earliest), 'EARLY'}
end
if last == '0' then
    local not_yet = unjudged(judged)
    if not_yet then return not_yet end
end
if fields[5] then
    local refused = refusal()
    if refused then return refused end
    local queue = line()
    local ticket, number = queue.first_in_line()
    if ticket == false then return {'MORE', now} end
    if ticket == nonce then
        queue.leave(number, nonce) -- it is its turn
    elseif ticket then
        local _, left = queue.offer(earliest)
        if wait == '0' then return decline('HELD', last) end
        return queue.stand(nonce, wait, most) or {'QUEUED', now, digits(left / 1000), 'HELD'}
    end
    if redis.call('HEXISTS', key, 'qn') == 1 then retention = digits(math.max(tonumber(retention), queue.LINE_MS)) end
end

local token = math.max(tonumber(last) + 1, tonumber(now), tonumber(floor) + 1)
if token >= 9007199254740992 then return decline('EXHAUSTED') end
token = digits(token)
local expires = digits(now_ms + tonumber(ttl))
local refused = first('HSET', key, 't', token, 'r', retention, record, not_after .. ' GRANTED ' .. token .. ' ' .. expires)
if refused then return refused end
redis.call('HSET', key, 'a', digits(now_ms))
if user == '' then redis.call('HDEL', key, 'u') else redis.call('HSET', key, 'u', user) end
redis.call('PEXPIRE', key, digits(tonumber(ttl) + tonumber(retention)))
forget(13)
return {'GRANTED', now, token, expires}
