-- count: known gen, known seq, what was judged
-- -> POOL units capacity gen seq | NOPOOL seq gen | LOST | JUDGE | NOBEAT | STRANGE units seq capacity | SEALED
--
-- Tells what is in a pool. It changes nothing.
local known_gen, known_seq, judged = ARGV[4], ARGV[5], ARGV[6]
local fields = try('HMGET', key, 'n', 'gen', 'seq', 'c', 'x')
if fields.err then return fields end -- the key is somebody else's
local units, gen, seq, capacity = fields[1], fields[2] or '', fields[3] or '0', fields[4] or ''
if strange(units, seq, capacity) then return refusal() or {'STRANGE', now, units, seq, capacity} end
if known_gen ~= '' and (gen ~= known_gen or less(seq, known_seq)) then return refusal() or {'LOST', now} end
if fields[5] then return decline('SEALED') end
if not units then
    local not_yet = unjudged(judged) -- a pool that is gone with everything else is not one that never was
    if not_yet then return not_yet end
    return decline('NOPOOL', seq, gen)
end
return refusal() or {'POOL', now, units, capacity, gen, seq}
