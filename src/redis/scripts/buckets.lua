-- Buckets (GCRA): what one alone and several under one key have in common.
--
-- A limit of n permits per p microseconds, with n/p in lowest terms count/unit: a permit is `unit` units of
-- debt, of which `count` are paid off every microsecond, so that nothing is ever rounded. A bucket
-- holds burst * unit.
--
-- State: 'last debt debt ...;limits', the debts as they were at `last`, and the limits that they are
-- counted under, as text: 'count/unit/burst,...'. A store clock that has stepped back finds a `last` that
-- is still to come: the wait is longer by that, and nothing is paid off before.

local function paid_off(debt, elapsed, count)
  -- A long time is not multiplied.
  if elapsed >= ceil(debt / count) then return 0 end
  return debt - elapsed * count
end

local function wait_for(over, count, behind)
  return max(0, ceil(over / count) + behind)
end

-- The debt with what was spent; nil if nothing was.
local function spent(what, wait, debt, cost, unit, burst)
  if what == 'acquire' then
    if wait == 0 then return debt + cost * unit end
  elseif what == 'charge' then
    -- Into debt by one burst at most, and whole permits only.
    return debt + min(cost, max(0, floor((2 * burst * unit - debt) / unit))) * unit
  end
end

-- What remains, how long until there is more, and until all is back.
local function standing(debt, behind, count, unit, burst)
  local capacity = burst * unit
  local room = capacity - debt - behind * count
  -- Nothing is owed by a bucket that is full, whatever its clock says.
  if room >= capacity then return burst, 0, 0 end
  local remaining = max(0, floor(room / unit))
  local more = ceil(((remaining + 1) * unit - room) / count)
  return remaining, more, ceil(debt / count) + behind
end

-- A state that is counted under other limits. What is owed is carried over in whole permits, rounded up,
-- and no more than the new burst. Of a debt beyond the old burst, what is beyond it stays owed for as long
-- as before.
--
-- `limits`: count, unit, burst of each. Returns the time and the debts then.
local function carry_over(key, value, now, limits)
  local numbers, known = match(value, '^(%d[%d ]*);(.*)$')
  if not numbers then foreign(key) end
  local number = string.gmatch(numbers, '%d+')
  local last, debts = tonumber(number()), {}
  for count, unit, burst in string.gmatch(known, '(%d+)/(%d+)/(%d+)') do
    count, unit, burst = tonumber(count), tonumber(unit), tonumber(burst)
    local debt = paid_off(tonumber(number() or 0), max(0, now - last), count)
    local beyond = max(0, debt - burst * unit)
    local at = 3 * #debts
    local new_count, new_unit, new_burst = limits[at + 1], limits[at + 2], limits[at + 3]
    if not new_count then break end
    local whole = floor(beyond / count)
    local rest = ceil((beyond - whole * count) * new_count / count)
    -- 2^51: the largest debt that can be reckoned with.
    debts[#debts + 1] = min(ceil((debt - beyond) / unit), new_burst) * new_unit
      + min(whole * new_count + rest, 2251799813685248)
  end
  for i = #debts + 1, #limits / 3 do debts[i] = 0 end
  return max(now, last), debts
end
