-- set: units, capacity ('': unknown), gen for a new pool, whether one may be made (see claim.lua), known gen, known seq, what was
-- judged, answered nonces...
-- -> SET units_before capacity_before gen seq | NOPOOL seq gen | LOST | JUDGE | NOBEAT | SEALED | LATE | GIVENUP
--
-- An operator says what is in a pool, whatever was there. units_before is '-' if there was no pool, or one with values
-- that no script of ours writes, and capacity_before if it is unknown.
local to, capacity, new_gen, making, known_gen, known_seq, judged = ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8], ARGV[9], ARGV[10]
local fields = try('HMGET', key, 'n', 'gen', 'seq', record, 'x', 'c')
if fields.err then return fields end -- the key is somebody else's
local units, gen, seq, answer, was = fields[1], fields[2] or '', fields[3] or '0', fields[4], fields[6] or ''
local odd = strange(units, seq, was)
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
    if not matches(making, seq) then return decline('NOPOOL', seq, gen) end
end
if gen == '' then gen = new_gen end
if not plain(seq) then seq = known_seq end
local refused = first('HSET', key, 'n', to, 'gen', gen, 'seq', seq)
if refused then return refused end
if capacity == '' then redis.call('HDEL', key, 'c') else redis.call('HSET', key, 'c', capacity) end
redis.call('PERSIST', key) -- a note about a call that was given up may have made it mortal
redis.call('HINCRBY', key, 'seq', '1')
if odd or not units then units, was = '-', '' end
local told = {'SET', units, was == '' and '-' or was, gen, redis.call('HMGET', key, 'seq')[1]}
redis.call('HSET', key, record, not_after .. ' ' .. table.concat(told, ' '))
forget(11)
return {told[1], now, unpack(told, 2)}
