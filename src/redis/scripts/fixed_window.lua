-- Fixed windows, which begin at multiples of the period since the Unix epoch.
--
-- State: 'start count period'. Once a window is recorded, requests are judged in it or in a later one: a
-- store clock that has stepped back finds itself before the window, and waits for its end.
--
-- ARGV: cost, permits, period.
local function read_window(key, now, permits, period)
  local start, count = now - now % period, 0
  local value = redis.call('GET', key)
  if value then
    local s, c, p = string.match(value, '^(%d+) (%d+) (%d+)$')
    if not s then foreign(key) end
    s, c, p = tonumber(s), min(tonumber(c), permits), tonumber(p)
    if p == period then
      if s >= start then start, count = s, c end
    elseif s + p > now then
      -- A window of another length that is not over: its count goes to the one that runs.
      count = c
    end
  end
  return start, count
end

local function write_window(key, now, start, count, period)
  keep(key, string.format('%.0f %.0f %.0f', start, count, period), start + period - now)
end

recipes.w = function(key, now, at)
  local cost, permits, period = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  local start, count = read_window(key, now, permits, period)
  local left = start + period - now
  local wait = count + cost > permits and left or 0

  return wait, at + 3, function(what, reply)
    if what then
      local spent = min(cost, permits - count)
      if spent > 0 then
        count = count + spent
        write_window(key, now, start, count, period)
      end
    end
    local n = #reply
    reply[n + 1], reply[n + 2] = wait, permits - count
    reply[n + 3] = count > 0 and left or 0
    reply[n + 4] = count > 0 and left or 0
  end
end
