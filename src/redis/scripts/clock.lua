-- The time, in microseconds since the Unix epoch, as the store has it: no client's clock takes part.
-- A script asks once. (Tests put another clock in this place.)
local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end

-- How long a value is kept that matters for so many microseconds: in milliseconds, rounded up, and one more.
local function lifetime(microseconds)
  return string.format('%.0f', math.ceil(microseconds / 1000) + 1)
end
