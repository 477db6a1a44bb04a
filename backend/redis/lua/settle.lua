-- settle: '1' to undo what was applied, the units that it took, server microseconds before which nothing is offered
-- -> NOTHING held ('1': somebody has the lock) | UNDONE | UNDONE remaining gen seq | WAS word (as the call itself is answered)
--
-- Ends a call whose answer did not arrive: what it was answered is told or undone, or else no
-- copy of it will do anything any more. A call that waits leaves its line.
local undo, taken, earliest = ARGV[4] == '1', ARGV[5], ARGV[6]
local fields = try('HMGET', key, record, 't', 'r', 'n', 'x', 'qn')
if fields.err then return fields end -- the key is somebody else's
local answer, last, retention, units = fields[1], fields[2] or '0', fields[3], fields[4]
local gone = not_after .. ' x'
if fields[5] then undo = false end -- sealed: what was applied is exported so

-- The write of nothing first: it needs no memory, and what is written after it is not refused.
local refused = refusal()
if refused then return refused end

local queue = fields[6] and line()
local number = queue and queue.get('k' .. nonce)
if number then queue.leave(number, nonce) end

-- hand_on offers a lock that is free now to who is next.
local function hand_on()
    if queue and not fields[5] and redis.call('HEXISTS', key, 'qn') == 1 then queue.offer(earliest) end
end

local function nothing()
    local held = live(retention)
    if number and not held then hand_on() end
    return {'NOTHING', now, held and '1' or '0'}
end

if not answer then
    redis.call('HSET', key, record, gone)
    keep()
    return nothing()
end
local said = words(answer)
if said[2] == 'x' then return nothing() end

if said[2] == 'GRANTED' then
    local held = said[3] == last and live(retention)
    if held and not undo then
        -- not_after is that of the newest copy, so that no copy is newer than the answer.
        redis.call('HSET', key, record, not_after .. ' GRANTED ' .. said[3] .. ' ' .. said[4])
        return {'WAS', now, said[2], said[3], said[4]}
    end
    redis.call('HSET', key, record, gone)
    if held then free(retention) end
    if not live(retention) then hand_on() end
    return {'UNDONE', now}
end
if undo and said[2] == 'CLAIMED' and units then
    refused = first('HINCRBY', key, 'n', taken)
    if refused then return refused end
    redis.call('HINCRBY', key, 'seq', '1')
    redis.call('HSET', key, record, gone)
    fields = redis.call('HMGET', key, 'n', 'gen', 'seq')
    return {'UNDONE', now, fields[1], fields[2] or '', fields[3]}
end
if said[4] then return {'WAS', now, unpack(said, 2)} end -- all of the answer
fields = redis.call('HMGET', key, 'gen', 'seq')
return {'WAS', now, said[2], said[3] or last, fields[1] or '', fields[2] or '0'}
