-- One request: of one key, or of several that are spent from together, or not at all.
--
-- KEYS: one for each limiter. ARGV: what to do ('acquire', 'charge' or 'peek'), then for each key the letter
-- of its algorithm and that algorithm's part. Reply: the time, then four numbers for each limit; the request
-- was admitted if each one's first, its wait, is 0.
local now = clock()

local function each(what)
  local reply, at, longest = { now }, 2, 0
  for i = 1, #KEYS do
    local wait
    wait, at = recipes[ARGV[at]](KEYS[i], now, what, at + 1, reply)
    longest = max(longest, wait)
  end
  return reply, longest
end

-- Of several keys all are looked at before the first is written.
if ARGV[1] == 'acquire' and #KEYS > 1 then
  local reply, longest = each('peek')
  if longest > 0 then return reply end
end
return (each(ARGV[1]))
