-- The sliding counter: two windows' counts, the older weighed by how much of it is still in sight.
--
-- With e microseconds of the current window gone, a request is admitted if
--   previous * (period - e) + (current + cost) * period  <=  permits * period.
--
-- State: 'start current previous period'. Whoever comes with an older time than `start` is judged at it.
--
-- ARGV: cost, permits, period.

-- The counts of the window that runs, and its start.
local function roll(now, start, current, previous, period)
  local running = now - now % period
  if start >= running then return start, current, previous end
  if start + period == running then return running, 0, current end
  return running, 0, 0
end

local function read_counter(key, now, permits, period)
  local value = call('GET', key)
  if not value then return now - now % period, 0, 0 end
  local s, c, q, p = match(value, '^(%d+) (%d+) (%d+) (%d+)$')
  if not s then foreign(key) end
  s, c, q, p = tonumber(s), tonumber(c), tonumber(q), tonumber(p)
  s, c, q = roll(now, s, c, q, p)
  if p == period then return s, min(c, permits), min(q, permits) end
  -- Windows of another length: what they come to now, rounded up, counts in the one that runs.
  local gone = max(0, now - s)
  return now - now % period, min(c + ceil(q * (p - gone) / p), permits), 0
end

local function write_counter(key, now, start, current, previous, period)
  local reset = 0
  if current > 0 then reset = start + 2 * period - now elseif previous > 0 then reset = start + period - now end
  if reset == 0 then
    call('DEL', key)
  else
    keep(key, format('%.0f %.0f %.0f %.0f', start, current, previous, period), reset)
  end
  return reset
end

-- How long until so much fits, counted from `now`: in this window, in the next, or as the one after begins.
local function counter_wait(cost, current, previous, gone, behind, permits, period)
  local free = permits - current - cost
  if free >= 0 then
    if previous * (period - gone) <= free * period then return behind end
    local sight = floor(free * period / previous)
    if sight > 0 then return period - sight - gone + behind end
  end
  local sight = period
  if current > 0 then sight = min(period, floor((permits - cost) * period / current)) end
  return 2 * period - gone - sight + behind
end

-- What fits at once; less than nothing where limits have changed.
local function counter_room(current, previous, gone, permits, period)
  return floor(((permits - current) * period - previous * (period - gone)) / period)
end

recipes.c = function(key, now, what, at, reply)
  local cost, permits, period = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  local start, current, previous = read_counter(key, now, permits, period)
  local gone, behind = max(0, now - start), max(0, start - now)
  local room = counter_room(current, previous, gone, permits, period)
  -- Who is judged at a time that is still to come does not wait for it, if there is room then.
  local wait = cost <= room and 0 or counter_wait(cost, current, previous, gone, behind, permits, period)
  if what == 'charge' or (what == 'acquire' and wait == 0) then
    local spent = min(cost, max(0, room))
    if spent > 0 then
      current, room = current + spent, room - spent
      write_counter(key, now, start, current, previous, period)
    end
  end
  local remaining, more, reset = max(0, room), 0, 0
  if remaining < permits then
    more = counter_wait(remaining + 1, current, previous, gone, behind, permits, period)
  end
  if current > 0 then
    reset = start + 2 * period - now
  elseif previous > 0 then
    reset = start + period - now
  end
  tell(reply, wait, remaining, more, reset)
  return wait, at + 3
end
