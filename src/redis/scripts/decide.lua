-- One request: all its limits are read, then all are spent from, or none.
--
-- KEYS: one for each limiter. ARGV: what to do ('acquire', 'charge' or 'peek'), then for each key the letter
-- of its algorithm and that algorithm's part. Reply: the time, then four numbers for each limit; the request
-- was admitted if each one's first, its wait, is 0.
local now = clock()
local what, at = ARGV[1], 2
local finishers, admitted = {}, true
for i = 1, #KEYS do
  local wait
  wait, at, finishers[i] = recipes[ARGV[at]](KEYS[i], now, at + 1)
  if wait > 0 then admitted = false end
end
if what == 'peek' or (what == 'acquire' and not admitted) then what = nil end
local reply = { now }
for i = 1, #KEYS do finishers[i](what, reply) end
return reply
