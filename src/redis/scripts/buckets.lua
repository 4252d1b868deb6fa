-- Token buckets (GCRA), one or several under one key: the algorithms TokenBucket and AllOf.
--
-- A limit of n permits per p microseconds, with n/p in lowest terms count/unit: a permit is `unit` units of
-- debt, of which `count` are paid off every microsecond, so that nothing is ever rounded. A bucket
-- holds burst * unit.
--
-- State: 'last debt debt ...;limits', the debts as they were at `last`, and the limits that they are
-- counted under. A store clock that has stepped back finds a `last` that is still to come: the wait is
-- longer by that, and nothing is paid off before.
--
-- ARGV: limits as text ('count/unit/burst,...'), how many they are, cost, and count, unit, burst of each.

-- What is owed under other limits: whole permits, rounded up, and no more than the new burst. Of a debt
-- beyond the old burst, what is beyond it stays owed for as long as before.
local function carry_over(debts, last, now, known, limits)
  local i = 0
  for count, unit, burst in string.gmatch(known, '(%d+)/(%d+)/(%d+)') do
    i = i + 1
    count, unit, burst = tonumber(count), tonumber(unit), tonumber(burst)
    local debt = debts[i] or 0
    if now > last then
      if now - last >= ceil(debt / count) then debt = 0 else debt = debt - (now - last) * count end
    end
    local beyond = max(0, debt - burst * unit)
    local limit = limits[i]
    if limit then
      local whole = floor(beyond / count)
      local rest = ceil((beyond - whole * count) * limit.count / count)
      -- 2^51: the largest debt that can be reckoned with.
      debts[i] = min(ceil((debt - beyond) / unit), limit.burst) * limit.unit
        + min(whole * limit.count + rest, 2251799813685248)
    end
  end
  return max(now, last)
end

local function read_buckets(key, now, at)
  local spec, n, cost = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  local limits = {}
  for i = 1, n do
    local from = at + 3 * i
    limits[i] = { count = tonumber(ARGV[from]), unit = tonumber(ARGV[from + 1]), burst = tonumber(ARGV[from + 2]) }
  end

  local last, debts = now, {}
  local value = redis.call('GET', key)
  if value then
    local numbers, known = string.match(value, '^(%d[%d ]*);(.*)$')
    if not numbers then foreign(key) end
    local i = 0
    for number in string.gmatch(numbers, '%d+') do
      if i == 0 then last = tonumber(number) else debts[i] = tonumber(number) end
      i = i + 1
    end
    if known ~= spec then last = carry_over(debts, last, now, known, limits) end
  end

  -- From here on the debts are those at `last`, which is now, or still to come.
  local behind = 0
  if last > now then
    behind = last - now
  else
    local elapsed = now - last
    for i = 1, n do
      local debt, count = debts[i] or 0, limits[i].count
      if elapsed >= ceil(debt / count) then debts[i] = 0 else debts[i] = debt - elapsed * count end
    end
    last = now
  end
  for i = 1, n do debts[i] = debts[i] or 0 end

  return { key = key, spec = spec, cost = cost, limits = limits, last = last, behind = behind, debts = debts },
    at + 3 + 3 * n
end

local function write_buckets(state)
  local reset, parts = 0, { string.format('%.0f', state.last) }
  for i, limit in ipairs(state.limits) do
    local debt = state.debts[i]
    reset = max(reset, ceil(debt / limit.count) + state.behind)
    parts[i + 1] = string.format('%.0f', debt)
  end
  keep(state.key, table.concat(parts, ' ') .. ';' .. state.spec, reset)
end

recipes.b = function(key, now, at)
  local state, next_at = read_buckets(key, now, at)
  local limits, debts, cost, behind = state.limits, state.debts, state.cost, state.behind
  local waits, longest = {}, 0
  for i, limit in ipairs(limits) do
    local over = debts[i] + cost * limit.unit - limit.burst * limit.unit
    local wait = max(0, ceil(over / limit.count) + behind)
    waits[i] = wait
    if wait > longest then longest = wait end
  end

  return longest, next_at, function(what, reply)
    for i, limit in ipairs(limits) do
      local unit = limit.unit
      if what == 'charge' then
        -- Into debt by one burst at most, and whole permits only.
        debts[i] = debts[i] + min(cost, max(0, floor((2 * limit.burst * unit - debts[i]) / unit))) * unit
      elseif what then
        debts[i] = debts[i] + cost * unit
      end
    end
    if what then write_buckets(state) end
    for i, limit in ipairs(limits) do
      local debt, count, unit, capacity = debts[i], limit.count, limit.unit, limit.burst * limit.unit
      local room = capacity - debt - behind * count
      local remaining = max(0, floor(room / unit))
      local more = 0
      if room < capacity then more = ceil((min((remaining + 1) * unit, capacity) - room) / count) end
      local n = #reply
      reply[n + 1], reply[n + 2] = waits[i], remaining
      -- Nothing is owed by a bucket that is full, whatever its clock says.
      reply[n + 3], reply[n + 4] = more, debt > 0 and ceil(debt / count) + behind or behind
    end
  end
end
