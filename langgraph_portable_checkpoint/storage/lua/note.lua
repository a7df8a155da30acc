-- Store media table records, report entries and blobs of a thread that exists, atomically, if its media table is as it was read.
-- ARGV: 1 the thread's generation, 2 ttl ms or ''; then counted pairs of the names of records and the SHA-1 in hex of what was
--   read there, '' for nothing; then counted pairs for blobs, media; then counted lists of media records and of blobs to drop.
-- Reply: {'ok', digest of the records of uploads before} | {'stale'}: the thread is another one by now, or gone | {'changed'}: one of these records is another one by
--   now. Nothing is stored unless 'ok'.
local meta = read_meta()
if meta.g ~= ARGV[1] then return {'stale'} end
check_types()
check_rights('ZADD', 'HDEL', 'HSET', 'PEXPIRE', 'PERSIST', 'HGET', 'HKEYS')
local blobs = after_pairs(3)
for at = 4, blobs - 1, 2 do
  local found = redis.call('HGET', MEDIA, ARGV[at])
  if (found and redis.sha1hex(found) or '') ~= ARGV[at + 1] then return {'changed'} end
end
local uploads = {}
for _, name in ipairs(redis.call('HKEYS', MEDIA)) do
  if string.sub(name, 1, 7) == 'upload:' then
    uploads[#uploads + 1] = redis.sha1hex(name) .. redis.sha1hex(redis.call('HGET', MEDIA, name))
  end
end
table.sort(uploads)
local drops = store_pairs(MEDIA, store_pairs(BLOBS, blobs))
local gone = drops + tonumber(ARGV[drops]) + 1
drop_range(MEDIA, ARGV, drops + 1, gone - 1)
drop_range(BLOBS, ARGV, gone + 1, gone + tonumber(ARGV[gone]))
touch(ARGV[2], meta.ttl)
return {'ok', redis.sha1hex(table.concat(uploads))}
