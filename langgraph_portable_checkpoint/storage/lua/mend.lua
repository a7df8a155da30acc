-- Mend what can be mended of one thread, atomically. Nothing that holds data is removed.
-- ARGV: 1 '1' to only say what would be done, 2 a fresh generation, 3 thread id, 4 ttl ms or '', 5 how long (ms) a copy or
--   restore must have been idle to be taken for dead.
-- Reply: pairs of what was done, and to what: 'staged' (dropped what a load that never ended left), 'meta' (made a lost
--   meta again), 'top' (its highest checkpoint id), 'index' (named a checkpoint), 'unindex' (dropped a name of none),
--   'writes' (dropped an empty value), 'ttl' (gave keys the same time to live), 'gone' (let a tombstone or lease expire),
--   'sealed' (nothing: the lost meta held the thread's key).
local dry, HOUR, DATA = ARGV[1] == '1', 3600000, 9
local done = {}
local function act(name, detail, fn)
  done[#done + 1] = name
  done[#done + 1] = detail
  if not dry and fn then fn() end
end
check_types()
if not dry then
  check_rights('UNLINK', 'ZREM', 'HDEL', 'ZADD', 'HSET', 'PEXPIRE', 'PERSIST')
  check_rights('EXISTS', 'PTTL', 'HEXISTS', 'HKEYS', 'HMGET', 'HGET', 'HSTRLEN', 'ZRANGE')
end
for i = 10, 11 do
  if redis.call('PTTL', KEYS[i]) == -1 then act('gone', tostring(i), function() redis.call('PEXPIRE', KEYS[i], HOUR) end) end
end
local left = redis.call('PTTL', META)
if redis.call('EXISTS', CKPTS, INDEX, WRITES) == 0 then
  if left > 0 and left <= HOUR - tonumber(ARGV[5]) and redis.call('HEXISTS', META, 'm') == 0 then
    act('staged', tostring(redis.call('HLEN', ITEMS)), function() for i = 1, DATA do redis.call('UNLINK', KEYS[i]) end end)
  end
  return done
end
local records = redis.call('HKEYS', CKPTS)
local meta = redis.call('HMGET', META, 'g', 'm', 'ttl')
if not meta[1] then
  local some = records[1] and redis.call('HGET', CKPTS, records[1])
  if some and (string.byte(some, 2) or 0) >= 64 then
    act('sealed', '')
    return done
  end
  act('meta', '', function() redis.call('HSET', META, 'g', ARGV[2], 't', ARGV[3]) end)
end
local stored, top = {}, ''
for _, place in ipairs(records) do
  stored[place] = true
  local id = string.match(place, '%z(.*)$') or ''
  if id > top then top = id end
end
for _, place in ipairs(redis.call('ZRANGE', INDEX, 0, -1)) do
  if stored[place] then
    stored[place] = nil
  else
    act('unindex', place, function() redis.call('ZREM', INDEX, place) end)
  end
end
for place in pairs(stored) do act('index', place, function() redis.call('ZADD', INDEX, 0, place) end) end
if top > (meta[2] or '') then act('top', top, function() redis.call('HSET', META, 'm', top) end) end
for _, place in ipairs(redis.call('HKEYS', WRITES)) do
  if redis.call('HSTRLEN', WRITES, place) == 0 then
    act('writes', place, function() redis.call('HDEL', WRITES, place) end)
  end
end
local ttl, longest, shortest, never = tonumber(meta[3] or '') and meta[3] or ARGV[4], 0, nil, 0
for i = 1, DATA do
  local at = redis.call('PTTL', KEYS[i])
  if at == -1 then never = never + 1 end
  if at >= 0 then
    longest = math.max(longest, at)
    shortest = math.min(shortest or at, at)
  end
end
local apart = shortest and longest - shortest > 2000
if ttl == '0' or (ttl == '' and never > 0) then
  if shortest then act('ttl', 'never', function() for i = 1, DATA do redis.call('PERSIST', KEYS[i]) end end) end
elseif apart or (never > 0 and ttl ~= '') then
  local one = longest > 0 and longest or tonumber(ttl)
  act('ttl', tostring(one), function() for i = 1, DATA do redis.call('PEXPIRE', KEYS[i], one) end end)
end
return done
