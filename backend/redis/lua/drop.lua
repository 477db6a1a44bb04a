-- drop: gen for a pool that has none, known gen, known seq, what was judged, answered nonces...
-- -> DROPPED gen seq | NOPOOL seq gen | LOST | JUDGE | NOBEAT | SEALED | LATE | GIVENUP
--
-- Of a pool that was dropped gen and seq stay, for good: who has seen it, and finds it without units, knows by them that
-- nothing was lost. To drop it once more counts as a change, too, so that nobody makes it by what was found before.
local new_gen, known_gen, known_seq, judged = ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local fields = try('HMGET', key, 'n', 'gen', 'seq', record, 'x')
if fields.err then return fields end -- the key is somebody else's
local units, gen, seq, answer = fields[1], fields[2] or '', fields[3] or '0', fields[4]
local odd = strange(units, seq)
if not odd and known_gen ~= '' and (gen ~= known_gen or less(seq, known_seq)) then return refusal() or {'LOST', now} end
if answer then
    local said = words(answer)
    if said[2] == 'x' then return {'GIVENUP', now} end
    return {said[2], now, unpack(said, 3)}
end
if less(not_after, now) then return {'LATE', now} end
if fields[5] then return decline('SEALED') end

if not units then
    local not_yet = unjudged(judged)
    if not_yet then return not_yet end
    if gen == '' then return decline('NOPOOL', seq, gen) end
end
if gen == '' then gen = new_gen end
if not plain(seq) then seq = known_seq end
-- The write of nothing first: no write after it is refused, so a pool can be dropped when there is no memory.
local refused = refusal()
if refused then return refused end
redis.call('HDEL', key, 'n', 'c')
redis.call('HSET', key, 'gen', gen, 'seq', seq)
redis.call('HINCRBY', key, 'seq', '1')
redis.call('PERSIST', key)
seq = redis.call('HMGET', key, 'seq')[1]
local told = units and {'DROPPED', gen, seq} or {'NOPOOL', seq, gen}
redis.call('HSET', key, record, not_after .. ' ' .. table.concat(told, ' '))
forget(8)
return {told[1], now, unpack(told, 2)}
