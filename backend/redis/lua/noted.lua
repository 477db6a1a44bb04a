-- noted: the name of a pool within its tenant
-- -> NOTED stamp | UNNOTED
--
-- Tells by which stamp reserve has noted a name last. It changes nothing.
local fields = try('HMGET', key, ARGV[4])
if fields.err then return fields end -- the key is somebody else's
if not fields[1] then return refusal() or {'UNNOTED', now} end
return refusal() or {'NOTED', now, fields[1]}
