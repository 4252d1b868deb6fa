-- The sliding log: the time of every request that was admitted in the last period.
--
-- State: a list of 'time before after', oldest first, where before and after are the permits spent in all
-- before an entry and with it. So what lies between two entries is a subtraction, entries are found by
-- halving, and a denial need not take old ones out to be exact.
--
-- Whoever comes with an older time than the newest entry is judged at that.
--
-- ARGV: cost, permits, period.
local function entry(key, index)
  local text = call('LINDEX', key, index)
  if not text then return nil end
  local time, before, after = match(text, '^(%d+) (%d+) (%d+)$')
  if not time then foreign(key) end
  return tonumber(time), tonumber(before), tonumber(after)
end

local function append(key, time, before, after)
  call('RPUSH', key, format('%.0f %.0f %.0f', time, before, after))
end

-- The list has its time to live from its newest entry.
local function keep_log(key, left)
  call('PEXPIRE', key, lifetime(left))
end

-- The first of `count` entries, from `from` on, of which `is` holds: it does of all that follow. Most often
-- it is the very first.
local function first_where(key, from, count, is)
  if is(entry(key, from)) then return from end
  local low, high = from + 1, count
  while low < high do
    local middle = floor((low + high) / 2)
    if is(entry(key, middle)) then high = middle else low = middle + 1 end
  end
  return low
end

recipes.l = function(key, now, what, at, reply)
  local cost, permits, period = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  local count = call('LLEN', key)
  local judged, before_all, after_all, live = now, 0, 0, count
  if count > 0 then
    local newest, _, after = entry(key, count - 1)
    judged = max(now, newest)
    if newest > judged - period then
      after_all = after
      live = first_where(key, 0, count, function(time) return time > judged - period end)
      local _, before = entry(key, live)
      before_all = before
    end
  end
  -- How long until at most so many of those that are held count still, which is fewer than now.
  local function wait_until(most)
    local last = first_where(key, live, count, function(_, _, after) return after_all - after <= most end)
    return (entry(key, last)) + period - now
  end
  local used = after_all - before_all
  local wait = used + cost > permits and used > 0 and wait_until(max(0, permits - cost)) or 0
  if what == 'charge' or (what == 'acquire' and wait == 0) then
    local spent = min(cost, max(0, permits - used))
    if spent > 0 then
      if live > 0 then
        call('LTRIM', key, live, -1)
        count, live = count - live, 0
      end
      append(key, judged, after_all, after_all + spent)
      count, after_all, used = count + 1, after_all + spent, used + spent
      keep_log(key, judged + period - now)
    end
  end
  local remaining, more, reset = max(0, permits - used), 0, 0
  if used > 0 then
    more = wait_until(permits - remaining - 1)
    reset = entry(key, count - 1) + period - now
  end
  tell(reply, wait, remaining, more, reset)
  return wait, at + 3
end
