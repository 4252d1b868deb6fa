-- Several buckets under one key, spent from together: the algorithm AllOf.
--
-- ARGV: the limits as text, how many they are, cost, and count, unit, burst of each.

-- Count, unit and burst of each, one after the other.
local function limits_at(at, n)
  local limits = {}
  for i = 1, 3 * n do limits[i] = tonumber(ARGV[at + 2 + i]) end
  return limits
end

-- The time, which is now or still to come, and the debts then; nil if the key is new.
local function read_buckets(key, now, spec, limits)
  local value = call('GET', key)
  if not value then return nil end
  local n = #limits / 3
  local numbers = { match(value, '^(%d+)' .. string.rep(' (%d+)', n) .. ';(.+)$') }
  if numbers[n + 2] ~= spec then return carry_over(key, value, now, limits) end
  local last, debts = tonumber(numbers[1]), {}
  local elapsed = max(0, now - last)
  for i = 1, n do debts[i] = paid_off(tonumber(numbers[i + 1]), elapsed, limits[3 * i - 2]) end
  return max(now, last), debts
end

local function write_buckets(key, last, debts, spec, reset)
  local texts = { format('%.0f', last) }
  for i, debt in ipairs(debts) do texts[i + 1] = format('%.0f', debt) end
  keep(key, table.concat(texts, ' ') .. ';' .. spec, reset)
end

recipes.a = function(key, now, what, at, reply)
  local spec, n, cost = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  local limits = limits_at(at, n)
  local last, debts = read_buckets(key, now, spec, limits)
  if not last then
    last, debts = now, {}
    for i = 1, n do debts[i] = 0 end
  end
  local behind, waits, longest = last - now, {}, 0
  for i = 1, n do
    local count, unit, burst = limits[3 * i - 2], limits[3 * i - 1], limits[3 * i]
    waits[i] = wait_for(debts[i] + (cost - burst) * unit, count, behind)
    longest = max(longest, waits[i])
  end
  local latest, changed = 0, false
  for i = 1, n do
    local count, unit, burst = limits[3 * i - 2], limits[3 * i - 1], limits[3 * i]
    local debt = spent(what, longest, debts[i], cost, unit, burst)
    if debt then debts[i], changed = debt, true end
    local remaining, more, reset = standing(debts[i], behind, count, unit, burst)
    latest = max(latest, reset)
    tell(reply, waits[i], remaining, more, reset)
  end
  if changed then write_buckets(key, last, debts, spec, latest) end
  return longest, at + 3 + 3 * n
end
