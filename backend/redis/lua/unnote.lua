-- unnote: the name of a pool within its tenant, its stamp
-- -> UNNOTED
--
-- The pool does not count any more, unless somebody has noted it once more since its stamp was read.
local fields = try('HMGET', key, ARGV[4])
if fields.err then return fields end -- the key is somebody else's
if fields[1] ~= ARGV[5] then return refusal() or {'UNNOTED', now} end
return first('HDEL', key, ARGV[4]) or {'UNNOTED', now}
