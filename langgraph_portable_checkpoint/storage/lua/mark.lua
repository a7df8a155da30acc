-- Replace one turn record, if the turn log still belongs to a checkpoint.
-- ARGV: 1 generation, 2 place that the log must belong to, 3 field, 4 record. Reply: 1 if written, else 0.
local meta = redis.call('HMGET', META, 'g', 'th')
if meta[1] ~= ARGV[1] or meta[2] ~= ARGV[2] then return 0 end
redis.call('HSET', TURNS, ARGV[3], ARGV[4])
local left = redis.call('PTTL', META)
if left > 0 then redis.call('PEXPIRE', TURNS, left) end
return 1
