-- Between prelude.lua and each script that works on locks: the line of those who wait for one.
--
-- The line is in the lock's own hash: qn how many stand in it, qh the number of the first, qt that of the next who
-- comes; q<number> is 'ticket end length', when and how long it waits, in microseconds; k<ticket> its number;
-- p<proxy> 'until tickets', how long the proxy lives unless it asks again, and how many tickets it has here;
-- o 'number until', to whom the free lock is offered. Without anybody in line there is none of these fields.
--
-- A ticket is the nonce of its call, and begins with the name of its proxy. The number changes when it goes to
-- the tail; and some numbers have no ticket any more.
--
-- line gives what a script can do with it, and only a script that has to do with a line calls it: the functions are made then.
--
-- An offer is longer than what passes between two polls: who did not hear of it finds it.
local function line()

    local OFFER_US, ALIVE_US, MOST_DEAD = 1500000, 3000000, 100
    local STEP_US = 1000000 -- how far the clock may be set back without harm to who is in line
    local LINE_MS = 10000 -- how long a line lives that nobody asks for, whatever the retention is

    local function get(field) return redis.call('HMGET', key, field)[1] end

    local function proxy_of(ticket) return string.sub(ticket, 1, 12) end

    -- past tells whether a time is over that was length away when it was written. One that is further away now
    -- is from before the clock was set back: it is over too, or it would last for as long as the step.
    local function past(text, length)
        local left = tonumber(text) - tonumber(now)
        return left < 0 or left > length + STEP_US
    end

    -- ms_until is in how many milliseconds it is that time, if that is in the future.
    local function ms_until(time) return less(now, time) and digits((tonumber(time) - tonumber(now)) / 1000) or '1000' end

    -- count changes how many tickets a proxy has in this line, and says that it lives if that is known.
    local function count(ticket, change, lives)
        local field = 'p' .. proxy_of(ticket)
        local was = words(get(field) or '0 0')
        local tickets = tonumber(was[2]) + change
        local alive = lives and digits(tonumber(now) + ALIVE_US) or was[1]
        if tickets > 0 then redis.call('HSET', key, field, alive .. ' ' .. digits(tickets)) else redis.call('HDEL', key, field) end
    end

    -- leave takes a ticket out of the line.
    local function leave(number, ticket)
        redis.call('HDEL', key, 'q' .. number, 'k' .. ticket)
        count(ticket, -1)
        local offer = get('o')
        if offer and words(offer)[1] == number then redis.call('HDEL', key, 'o') end
        if redis.call('HINCRBY', key, 'qn', '-1') <= 0 then redis.call('HDEL', key, 'qn', 'qh', 'qt', 'o') end
    end

    -- to_tail lets those behind a ticket pass that did not take the lock when it was offered.
    local function to_tail(number, ticket, entry)
        local last = digits(redis.call('HINCRBY', key, 'qt', '1') - 1)
        redis.call('HDEL', key, 'q' .. number, 'o')
        redis.call('HSET', key, 'q' .. last, entry, 'k' .. ticket, last)
    end

    -- dead tells whether a ticket's wait is over, or its proxy does not ask for it any more.
    local function dead(ticket, ending, length)
        if past(ending, tonumber(length)) then return true end
        local alive = get('p' .. proxy_of(ticket))
        return not alive or past(words(alive)[1], ALIVE_US)
    end

    -- first_in_line is whose turn it is: its ticket, its number and for how many microseconds the lock is offered to it
    -- still (nil: it is not). The dead are dropped. nil: nobody is in line; false: there are dead ones left.
    local function first_in_line()
        for _ = 1, MOST_DEAD do
            local head = redis.call('HMGET', key, 'qh', 'o')
            local number, offer = head[1], head[2] and words(head[2])
            if not number then return nil end
            local entry = get('q' .. number)
            local ticket, ending, length
            if entry then ticket, ending, length = unpack(words(entry)) end
            if offer and offer[1] ~= number then offer = nil end
            local lapsed = offer and past(offer[2], OFFER_US)
            if entry and not lapsed and not dead(ticket, ending, length) then
                return ticket, number, offer and tonumber(offer[2]) - tonumber(now)
            end
            redis.call('HINCRBY', key, 'qh', '1')
            if entry and dead(ticket, ending, length) then
                leave(number, ticket)
            elseif entry then
                to_tail(number, ticket, entry)
            end
        end
        return false
    end

    -- keep_line keeps the line of a lock that nobody holds.
    local function keep_line()
        redis.call('HDEL', key, 'r', 'u', 'a') -- whatever lease there was is over, and stays so
        if redis.call('PTTL', key) < LINE_MS then redis.call('PEXPIRE', key, LINE_MS) end
    end

    -- offer offers a lock that nobody holds to the first in line, and tells that proxy, unless it is the one that asks. Nothing is
    -- offered before earliest: what was offered then would be refused. It gives ticket and microseconds as first_in_line.
    -- A write comes before it: what is written after one is not refused.
    local function offer(earliest, asking)
        keep_line()
        if less(now, earliest) then return nil end
        local ticket, number, left = first_in_line()
        if not ticket or left then return ticket, left end
        redis.call('HSET', key, 'o', number .. ' ' .. digits(tonumber(now) + OFFER_US))
        if proxy_of(ticket) ~= asking then
            -- Without the right to it, or an answer to it, the poll finds the offer.
            redis.pcall('PUBLISH', string.match(key, '^[^{]*'):sub(1, -7) .. ':w:' .. proxy_of(ticket), key .. ' ' .. ticket)
        end
        return ticket, OFFER_US
    end

    -- stand puts a ticket at the end of the line unless it is in it, for so many milliseconds from now. most is how many may
    -- be in line ('0': any number).
    local function stand(ticket, wait, most)
        local length = tonumber(wait) * 1000
        local entry = ticket .. ' ' .. digits(tonumber(now) + length) .. ' ' .. digits(length)
        local seen = redis.call('HMGET', key, 'k' .. ticket, 'qn', 'qt', 'qh')
        if seen[1] then
            local refused = first('HSET', key, 'q' .. seen[1], entry)
            if not refused then count(ticket, 0, true) end
            return refused
        end
        if seen[2] and most ~= '0' and tonumber(seen[2]) >= tonumber(most) then
            local refused = refusal()
            if refused then return refused end
            first_in_line() -- the dead take no place
            if tonumber(get('qn') or '0') >= tonumber(most) then return {'FULL', now} end
            seen = redis.call('HMGET', key, 'k' .. ticket, 'qn', 'qt', 'qh')
        end
        local number = seen[3] or '0'
        local refused = first('HSET', key, 'q' .. number, entry, 'k' .. ticket, number)
        if refused then return refused end
        if not seen[4] then redis.call('HSET', key, 'qh', number) end
        redis.call('HINCRBY', key, 'qt', '1')
        redis.call('HINCRBY', key, 'qn', '1')
        count(ticket, 1, true)
    end

    -- outlive keeps the line for a while after a lease, however short the retention r is that it was granted with.
    local function outlive(retention)
        if not retention or tonumber(retention) >= LINE_MS then return end
        redis.call('PEXPIRE', key, digits(redis.call('PTTL', key) + LINE_MS - tonumber(retention)))
        redis.call('HSET', key, 'r', LINE_MS)
    end

    return {
        proxy_of = proxy_of, count = count, leave = leave, first_in_line = first_in_line, keep_line = keep_line,
        offer = offer, stand = stand, outlive = outlive, LINE_MS = LINE_MS, get = get, ms_until = ms_until,
    }
end
