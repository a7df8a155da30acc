-- Say how a thread's keys stand, without the values of its records.
-- ARGV: none. Reply: {meta as flat field, value list, index members, {PTTL of each of the thread's keys, in order}}.
local ttls = {}
for i = 1, #KEYS do ttls[i] = redis.call('PTTL', KEYS[i]) end
return {redis.call('HGETALL', META), redis.call('ZRANGE', INDEX, 0, -1), ttls}
