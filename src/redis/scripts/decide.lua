-- One request: of one key, or of several that are spent from together, or not at all.
--
-- KEYS: one for each limiter. ARGV: what to do ('acquire', 'charge' or 'peek'), then for each key the letter
-- of its algorithm and that algorithm's part. Reply: the time, then four numbers for each limit; the request
-- was admitted if each one's first, its wait, is 0.
local now = clock()
if #KEYS == 1 then
  local reply = { now }
  recipes[ARGV[2]](KEYS[1], now, ARGV[1], 3, reply)
  return reply
end

local function each(what)
  local reply, at, longest = { now }, 2, 0
  for i = 1, #KEYS do
    local wait
    wait, at = recipes[ARGV[at]](KEYS[i], now, what, at + 1, reply)
    longest = max(longest, wait)
  end
  return reply, longest
end

-- All are looked at before the first is written.
local reply, longest = each('peek')
if ARGV[1] == 'acquire' and longest == 0 then reply = each('acquire') end
return reply
