-- Store media table records, report entries and blobs of a thread that exists, atomically, if its media table is as it was read.
-- ARGV: 1 the thread's generation, 2 ttl ms or ''; then counted pairs of the names of records and the SHA-1 in hex of what was
--   read there, '' for nothing; then counted pairs for blobs, media; then a counted list of media records to drop.
-- Reply: {'ok'} | {'stale'}: the thread is another one by now, or gone | {'changed'}: one of these records is another one by
--   now. Nothing is stored unless 'ok'.
local meta = read_meta()
if meta.g ~= ARGV[1] then return {'stale'} end
check_types()
check_rights('ZADD', 'HDEL', 'HSET', 'PEXPIRE', 'PERSIST', 'HGET')
local blobs = after_pairs(3)
for at = 4, blobs - 1, 2 do
  local found = redis.call('HGET', MEDIA, ARGV[at])
  if (found and redis.sha1hex(found) or '') ~= ARGV[at + 1] then return {'changed'} end
end
local drops = store_pairs(MEDIA, store_pairs(BLOBS, blobs))
drop_range(MEDIA, ARGV, drops + 1, drops + tonumber(ARGV[drops]))
touch(ARGV[2], meta.ttl)
return {'ok'}
