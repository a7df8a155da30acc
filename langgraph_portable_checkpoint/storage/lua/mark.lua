-- Replace one turn record, if the turn log still belongs to a checkpoint.
-- ARGV: 1 generation, 2 place that the log must belong to, 3 field, 4 record, 5 SHA-1 in hex of the record that it replaces.
-- Reply: 1 if written, 0 if the log is of another checkpoint, -1 if another record is there.
local meta = redis.call('HMGET', META, 'g', 'th')
if meta[1] ~= ARGV[1] or meta[2] ~= ARGV[2] then return 0 end
if redis.sha1hex(redis.call('HGET', TURNS, ARGV[3]) or '') ~= ARGV[5] then return -1 end
local left = redis.call('PTTL', META)
check_rights('ZADD', 'HDEL', 'HSET', 'PEXPIRE')
redis.call('HSET', TURNS, ARGV[3], ARGV[4])
if left > 0 then redis.call('PEXPIRE', TURNS, left) end
return 1
