-- One bucket: the algorithm TokenBucket.
--
-- ARGV: the limit as text, cost, and count, unit, burst.

-- The time, which is now or still to come, and the debt then; nil if the key is new.
local function read_bucket(key, now, spec, count, unit, burst)
  local value = call('GET', key)
  if not value then return nil end
  local last, debt, known = match(value, '^(%d+) (%d+);(.+)$')
  if known ~= spec then
    local at, debts = carry_over(key, value, now, { count, unit, burst })
    return at, debts[1]
  end
  last, debt = tonumber(last), tonumber(debt)
  if last > now then return last, debt end
  return now, paid_off(debt, now - last, count)
end

local function write_bucket(key, last, debt, spec, reset)
  keep(key, format('%.0f %.0f;%s', last, debt, spec), reset)
end

recipes.b = function(key, now, what, at, reply)
  local spec, cost = ARGV[at], tonumber(ARGV[at + 1])
  local count, unit, burst = tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
  local last, debt = read_bucket(key, now, spec, count, unit, burst)
  if not last then last, debt = now, 0 end
  local behind = last - now
  local wait = wait_for(debt + (cost - burst) * unit, count, behind)
  local changed = spent(what, wait, debt, cost, unit, burst)
  local remaining, more, reset = standing(changed or debt, behind, count, unit, burst)
  if changed then write_bucket(key, last, changed, spec, reset) end
  tell(reply, wait, remaining, more, reset)
  return wait, at + 5
end
