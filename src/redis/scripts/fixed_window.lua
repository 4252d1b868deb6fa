-- Fixed windows, which begin at multiples of the period since the Unix epoch.
--
-- State: 'start count period'. Once a window is recorded, requests are judged in it or in a later one: a
-- store clock that has stepped back finds itself before the window, and waits for its end.
--
-- ARGV: cost, permits, period.
local function read_window(key, now, permits, period)
  local start, count = now - now % period, 0
  local value = call('GET', key)
  if value then
    local s, c, p = match(value, '^(%d+) (%d+) (%d+)$')
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
  keep(key, format('%.0f %.0f %.0f', start, count, period), start + period - now)
end

recipes.w = function(key, now, what, at, reply)
  local cost, permits, period = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  local start, count = read_window(key, now, permits, period)
  local left = start + period - now
  local wait = count + cost > permits and left or 0
  if what == 'charge' or (what == 'acquire' and wait == 0) then
    local spent = min(cost, permits - count)
    if spent > 0 then
      count = count + spent
      write_window(key, now, start, count, period)
    end
  end
  local back = count > 0 and left or 0
  tell(reply, wait, permits - count, back, back)
  return wait, at + 3
end
