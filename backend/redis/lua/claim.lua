-- claim: n, capacity, gen for a new pool, '1' if it may be created, known gen, known seq,
-- what was judged, answered nonces...
-- -> CLAIMED remaining gen seq | SHORT remaining gen seq | LOST | NOPOOL | JUDGE | NOBEAT | STRANGE units seq | SEALED | LATE | GIVENUP
--
-- Fields of a pool: n its units, gen a random name of this life of it, seq the count of
-- its changes. Whoever has seen a later state, or another life, than this one knows that
-- acknowledged changes are lost.
local n, capacity, new_gen, create, known_gen, known_seq, judged = ARGV[4], ARGV[5], ARGV[6], ARGV[7] == '1', ARGV[8], ARGV[9], ARGV[10]
local fields = try('HMGET', key, 'n', 'gen', 'seq', record, 'x')
if fields.err then return fields end -- the key is somebody else's
local units, gen, seq, answer = fields[1], fields[2] or '', fields[3] or '0', fields[4]
if strange(units, seq) then return refusal() or {'STRANGE', now, units, seq} end
if known_gen ~= '' and (not units or gen ~= known_gen or less(seq, known_seq)) then return refusal() or {'LOST', now} end
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
    if not create then return decline('NOPOOL') end
    local refused = first('HSET', key, 'n', capacity, 'gen', new_gen, 'seq', '0')
    if refused then return refused end
    units, gen = capacity, new_gen
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
forget(11)
return {word, now, fields[1], gen, fields[2]}
