-- Store media table records, report entries and blobs of a thread that exists, atomically.
-- ARGV: 1 the thread's generation, 2 ttl ms or ''; then counted pairs for blobs, media.
-- Reply: {'ok'} | {'stale'}: the thread is another one by now, or gone. Nothing is stored unless 'ok'.
local meta = read_meta()
if meta.g ~= ARGV[1] then return {'stale'} end
check_types()
check_rights('ZADD', 'HDEL', 'HSET', 'PEXPIRE', 'PERSIST', 'HGET')
store_pairs(MEDIA, store_pairs(BLOBS, 3))
touch(ARGV[2], meta.ttl)
return {'ok'}
