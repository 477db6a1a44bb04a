-- restock: n, known gen, known seq, what was judged, answered nonces...
-- -> RESTOCKED remaining gen seq | NOPOOL seq gen | OVERFLOW | LOST | JUDGE | NOBEAT | STRANGE units seq | SEALED | LATE | GIVENUP
local n, known_gen, known_seq, judged = ARGV[4], ARGV[5], ARGV[6], ARGV[7]
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
    local not_yet = unjudged(judged) -- a pool that is gone with everything else is not one that never was
    if not_yet then return not_yet end
    return decline('NOPOOL', seq, gen)
end
local refused = first('HINCRBY', key, 'n', n)
if refused then
    if string.find(refused.err, 'overflow', 1, true) then return decline('OVERFLOW', units, gen, seq) end
    return refused
end
redis.call('PERSIST', key) -- a note about a call that was given up may have made it mortal
redis.call('HINCRBY', key, 'seq', '1')
fields = redis.call('HMGET', key, 'n', 'seq')
redis.call('HSET', key, record, not_after .. ' RESTOCKED ' .. fields[1])
forget(8)
return {'RESTOCKED', now, fields[1], gen, fields[2]}
