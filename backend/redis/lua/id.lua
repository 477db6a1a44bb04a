-- id: reads the id record, and notes in it what a proxy has found. ARGV: the id under which the proxy noticed
-- a loss of state ('' if it did not): after an adopt that is history; the greatest max_ttl it knows, in ms; beats that are made
-- now, as 'key=name' separated by spaces; its floor
-- -> NOID | ID id predecessors may_create lost beats max_ttl floor seal
--
-- Fields of the id record: id, before (predecessors, separated by spaces), create ('1': missing
-- pools may be created), lost ('1': a proxy noticed a loss), beats (those that have to be there),
-- max_ttl (the greatest that any proxy ever had), floor (no proxy has seen a token or a time above it, but for the
-- last second) and sealed (what moves the name space to another store or from one; '' is none).
-- Not a call: it has no nonce, since repeating it does no harm.
local key = KEYS[1]
local time = redis.call('TIME')
local now = time[1] .. string.rep('0', 6 - #time[2]) .. time[2]
local fields = redis.call('HMGET', key, 'id', 'before', 'create', 'lost', 'beats', 'max_ttl', 'floor', 'sealed')
if not fields[1] then return {'NOID', now} end
-- The write of nothing first: no write after it is refused for want of memory, and a replica refuses this one.
local refused = redis.pcall('HDEL', key, '!')
if type(refused) == 'table' and refused.err then return refused end
local lost, beats, max_ttl = fields[4] or '0', fields[5] or '', fields[6] or '0'
if fields[1] == ARGV[1] and lost ~= '1' then
    redis.call('HSET', key, 'lost', '1')
    lost = '1'
end
if (tonumber(max_ttl) or 0) < tonumber(ARGV[2]) then
    redis.call('HSET', key, 'max_ttl', ARGV[2])
    max_ttl = ARGV[2]
end
if ARGV[3] ~= '' then
    local kept = {}
    for beat in string.gmatch(ARGV[3], '%S+') do kept[#kept + 1] = beat end
    local new = ' ' .. ARGV[3]
    for beat in string.gmatch(beats, '%S+') do
        if not string.find(new, ' ' .. string.match(beat, '^[^=]*=') , 1, true) then kept[#kept + 1] = beat end
    end
    beats = table.concat(kept, ' ')
    redis.call('HSET', key, 'beats', beats)
end
local floor = fields[7] or '0'
if tonumber(floor) < tonumber(ARGV[4]) then
    redis.call('HSET', key, 'floor', ARGV[4])
    floor = ARGV[4]
end
return {'ID', now, fields[1], fields[2] or '', fields[3] or '0', lost, beats, max_ttl, floor, fields[8] or ''}
