-- claim: n, capacity, gen for a new pool, whether one may be made, '1' if one that is missing may be, known gen, known seq,
-- what was judged, answered nonces...
-- -> CLAIMED remaining gen seq | SHORT remaining gen seq | LOST | NOPOOL seq gen | JUDGE | NOBEAT | STRANGE units seq | SEALED | LATE | GIVENUP
--
-- Fields of a pool: n its units, c its capacity, if the version that made it has kept that, gen a random name of it, seq the count of
-- its changes. Whoever has seen a later state, or another name, than this one knows that
-- acknowledged changes are lost. A pool that was dropped has gen and seq, and no units.
--
-- Whether a pool that is not there may be made: '*'; '' it may not; or only if seq is this, so that it is the pool whose
-- name was noted since. One that was dropped is not missing, and may be made if it is not to be found after a loss, too.
local n, capacity, new_gen, making, create = ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8] == '1'
local known_gen, known_seq, judged = ARGV[9], ARGV[10], ARGV[11]
local fields = try('HMGET', key, 'n', 'gen', 'seq', record, 'x')
if fields.err then return fields end -- the key is somebody else's
local units, gen, seq, answer = fields[1], fields[2] or '', fields[3] or '0', fields[4]
if strange(units, seq) then return refusal() or {'STRANGE', now, units, seq} end
if known_gen ~= '' and (gen ~= known_gen or less(seq, known_seq)) then return refusal() or {'LOST', now} end
if answer then
    local said = words(answer)
    if said[2] == 'x' then return {'GIVENUP', now} end
    return {said[2], now, said[3], gen, seq}
end
if less(not_after, now) then return {'LATE', now} end
if fields[5] then return decline('SEALED') end

if not units then
    local not_yet = unjudged(judged)
    if not_yet then return not_yet end
    if gen == '' and not create or not matches(making, seq) then return decline('NOPOOL', seq, gen) end
    if gen == '' then gen = new_gen end
    local refused = first('HSET', key, 'n', capacity, 'c', capacity, 'gen', gen, 'seq', plain(seq) and seq or '0')
    if refused then return refused end
    units = capacity
elseif less(units, n) then
    return decline('SHORT', units, gen, seq)
end

local word = 'SHORT'
if not less(units, n) then
    local refused = first('HINCRBY', key, 'n', '-' .. n)
    if refused then return refused end
    word = 'CLAIMED'
end
if gen == '' then -- the operator made the pool, with its units only
    gen = new_gen
    redis.call('HSET', key, 'gen', gen)
end
redis.call('PERSIST', key) -- a note about a call that was given up may have made it mortal
redis.call('HINCRBY', key, 'seq', '1')
fields = redis.call('HMGET', key, 'n', 'seq')
redis.call('HSET', key, record, not_after .. ' ' .. word .. ' ' .. fields[1])
forget(12)
return {word, now, fields[1], gen, fields[2]}
