-- scan: what was judged, cursor, pattern, how many keys to look at. Its key is the beat of the master that is searched.
-- -> KEYS cursor key... | JUDGE | NOBEAT | SEALED
--
-- Names a part of a master's keys. That there are no more than these is said only by the server that was judged, with
-- its data, while it is a master.
local not_yet = unjudged(ARGV[4])
if not_yet then return not_yet end
local page = try('SCAN', ARGV[5], 'MATCH', ARGV[6], 'COUNT', ARGV[7])
if page.err then return page end
local answer = {'KEYS', now, page[1]}
for _, found in ipairs(page[2]) do answer[#answer + 1] = found end
return refusal() or answer
