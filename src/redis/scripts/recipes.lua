-- What the algorithms have in common.
--
-- All numbers are whole and below 2^53, where Lua's are exact; the limits are checked for that when they
-- are built. Of such numbers a / b, rounded by floor or ceil, is exact as well: a quotient that is not
-- whole is at least 1/b away from the next whole number, which is more than rounding can move it.
--
-- An algorithm is a function of a key, the time, and where its part of ARGV begins. It reads the key and
-- returns
--
--   wait     microseconds until the request would be admitted: 0 if it is now,
--   next     where the next part of ARGV begins,
--   finish   called with what to do ('acquire', 'charge', or nil to change nothing): writes, and appends
--            to the reply how each limit stands then: wait, remaining, next permit after, reset after.
local recipes = {}
local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min

-- Keeps a state for as long as it differs from none: value and time to live in one write.
local function keep(key, value, reset)
  redis.call('SET', key, value, 'PX', lifetime(reset))
end

local function foreign(key)
  error('TOLLGATE a value that is not a state of this format')
end
