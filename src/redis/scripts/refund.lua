-- Gives back what a request has spent: at most as much, and never more than is owed.
--
-- KEYS: one. ARGV: the letter of its algorithm, that algorithm's part with the permits to give back in
-- the place of the cost, and the time at which they were spent, in microseconds.
local now = clock()
local key, kind = KEYS[1], ARGV[1]
local spent_at = tonumber(ARGV[#ARGV])
local refunds = {}

refunds.b = function()
  local spec, back = ARGV[2], tonumber(ARGV[3])
  local count, unit, burst = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
  local last, debt = read_bucket(key, now, spec, count, unit, burst)
  if not last then return end
  debt = max(0, debt - back * unit)
  if debt == 0 then call('DEL', key) else write_bucket(key, last, debt, spec, ceil(debt / count) + last - now) end
end

refunds.a = function()
  local spec, n, back = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
  local limits = limits_at(2, n)
  local last, debts = read_buckets(key, now, spec, limits)
  if not last then return end
  local reset = 0
  for i = 1, n do
    debts[i] = max(0, debts[i] - back * limits[3 * i - 1])
    reset = max(reset, ceil(debts[i] / limits[3 * i - 2]))
  end
  if reset == 0 then call('DEL', key) else write_buckets(key, last, debts, spec, reset + last - now) end
end

-- Only in the window in which it was spent.
refunds.w = function()
  local cost, permits, period = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
  local start, count = read_window(key, now, permits, period)
  if count == 0 or start ~= spent_at - spent_at % period then return end
  count = max(0, count - cost)
  if count == 0 then call('DEL', key) else write_window(key, now, start, count, period) end
end

-- Only in the window in which it was spent, the current one or the one before.
refunds.c = function()
  local cost, permits, period = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
  local start, current, previous = read_counter(key, now, permits, period)
  local window = spent_at - spent_at % period
  if window == start then
    current = max(0, current - cost)
  elseif window + period == start then
    previous = max(0, previous - cost)
  else
    return
  end
  if call('EXISTS', key) == 1 then write_counter(key, now, start, current, previous, period) end
end

-- Only entries that still count, newest first, and none from after the time at which it was spent.
refunds.l = function()
  local cost, period = tonumber(ARGV[2]), tonumber(ARGV[4])
  local later, newest = {}, nil
  while true do
    local time, before, after = entry(key, -1)
    if not time then break end
    newest = newest or time
    if time <= max(now, newest) - period or (cost == 0 and time <= spent_at) then break end
    call('RPOP', key)
    local permits = after - before
    if time <= spent_at then
      local back = min(permits, cost)
      permits, cost = permits - back, cost - back
    end
    if permits > 0 then later[#later + 1] = { time, permits } end
  end
  local _, _, total = entry(key, -1)
  total = total or 0
  for i = #later, 1, -1 do
    append(key, later[i][1], total, total + later[i][2])
    total = total + later[i][2]
  end
  local last = entry(key, -1)
  if last then keep_log(key, max(1, last + period - now)) end
end

if refunds[kind] then refunds[kind]() end
return { now }
