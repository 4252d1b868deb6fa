-- What the algorithms have in common.
--
-- All numbers are whole and below 2^53, where Lua's are exact; the limits are checked for that when they
-- are built. Of such numbers a / b, rounded by floor or ceil, is exact as well: a quotient that is not
-- whole is at least 1/b away from the next whole number, which is more than rounding can move it.
--
-- An algorithm is a function of a key, the time, what to do, where its part of ARGV begins, and the reply.
-- What to do is
--
--   'acquire'  to spend the cost, if it is to be had at once,
--   'charge'   to spend what can be spent of it,
--   'peek'     to change nothing.
--
-- It appends to the reply how each limit stands then: the wait in microseconds until the request would be
-- admitted (0 if it is now), what remains, how long until there is one permit more, and until all is back.
-- It returns the longest of the waits, and where the next part of ARGV begins.
local recipes = {}
local call, format, match = redis.call, string.format, string.match
local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min

-- Keeps a state for as long as it differs from none: value and time to live in one write.
local function keep(key, value, reset)
  call('SET', key, value, 'PX', lifetime(reset))
end

local function foreign(key)
  error('TOLLGATE a value that is not a state of this format')
end

local function tell(reply, wait, remaining, more, reset)
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = wait, remaining, more, reset
end
