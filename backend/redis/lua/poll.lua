-- poll: the longest lease in ms, server microseconds before which nothing is offered
-- -> LEASE ms tickets | OFFER ms tickets ticket | WAIT ms tickets | MORE | STRANGE value | SEALED | LATE
--
-- Says that the proxy whose nonce this is waits for a lock still, and asks when there will be something new: in ms at the
-- latest. tickets is how many it has in line: fewer than it has given out tell that some were lost. Not a call: it
-- does no harm when it is repeated, and notes nothing.
local longest, earliest = ARGV[4], ARGV[5]
local queue = line()
local proxy = queue.proxy_of(nonce)
local fields = try('HMGET', key, 't', 'r', 'x', 'qn', 'p' .. proxy)
if fields.err then return fields end -- the key is somebody else's
if less(not_after, now) then return {'LATE', now} end
local refused = refusal()
if refused then return refused end
if fields[3] then return {'SEALED', now} end
if not fields[4] then return {'WAIT', now, '1000', '0'} end
if fields[5] then queue.count(nonce, 0, true) end

local function tickets()
    local alive = queue.get('p' .. proxy)
    return alive and words(alive)[2] or '0'
end

local held, odd = lease(fields[1] or '0', fields[2], longest)
if odd then return {'STRANGE', now, odd} end
if held then return {'LEASE', now, digits(redis.call('PTTL', key) - tonumber(fields[2])), tickets()} end
local ticket, left = queue.offer(earliest, proxy)
if ticket == false then return {'MORE', now} end
if not ticket then return {'WAIT', now, queue.ms_until(earliest), tickets()} end
if queue.proxy_of(ticket) == proxy then return {'OFFER', now, digits(left / 1000), tickets(), ticket} end
-- Another proxy takes the lock in a moment: when its lease ends is to be known before that may be over.
return {'WAIT', now, digits(math.min(left / 1000, 100)), tickets()}
