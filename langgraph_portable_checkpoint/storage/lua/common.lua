-- Shared by every script. KEYS are the thread's keys in the order of layout.THREAD_PARTS:
-- 1 meta, 2 items, 3 ckpts, 4 index, 5 writes, 6 turns, 7 blobs, 8 media, 9 runs, 10 gone, 11 lease.
-- An item or record starts with msgpack fixarray(3), a positive fixint kind, and a bin of concatenated 16-byte refs.
local META, ITEMS, CKPTS, INDEX, WRITES, TURNS = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local BLOBS, MEDIA, RUNS, GONE, LEASE = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local CHUNK = 1000
-- A script that takes many values takes them packed: as one argument they cost client and server less.
local A = ARGV

-- Concatenated refs of an item or record, or nil when the bytes are not one.
local function refs_of(value)
  local head, _, width, a, b, c, d = string.byte(value, 1, 7)
  if head ~= 0x93 then return nil end
  if width == 0xc4 and a then return string.sub(value, 5, 4 + a) end
  if width == 0xc5 and b then return string.sub(value, 6, 5 + a * 256 + b) end
  if width == 0xc6 and d then return string.sub(value, 8, 7 + ((a * 256 + b) * 256 + c) * 256 + d) end
  return nil
end

-- Call fn(frame_start, frame_end, key) for each frame of a writes value: u32 length, u16 key length, key, record.
local function each_frame(value, fn)
  local at, size = 1, #value
  while at + 5 <= size do
    local a, b, c, d, high, low = string.byte(value, at, at + 5)
    local stop = at + 3 + ((a * 256 + b) * 256 + c) * 256 + d
    local key_stop = at + 5 + high * 256 + low
    if stop > size then return end
    fn(at, stop, string.sub(value, at + 6, key_stop), key_stop + 1)
    at = stop + 1
  end
end

-- Append the refs of an item or record to `pending`, each once.
local function push_refs(value, pending, seen)
  local refs = value and refs_of(value)
  if not refs then return end
  for at = 1, #refs, 16 do
    local ref = string.sub(refs, at, at + 15)
    if not seen[ref] then
      seen[ref] = true
      pending[#pending + 1] = ref
    end
  end
end

-- Fetch all items reachable from the refs in `pending`, breadth first, appending digest, bytes to `out`.
local function collect(pending, seen, out)
  while #pending > 0 do
    local nexts = {}
    for from = 1, #pending, CHUNK do
      local upto = math.min(from + CHUNK - 1, #pending)
      local values = redis.call('HMGET', ITEMS, unpack(pending, from, upto))
      for i = from, upto do
        local value = values[i - from + 1]
        if value then
          out[#out + 1] = pending[i]
          out[#out + 1] = value
          push_refs(value, nexts, seen)
        end
      end
    end
    pending = nexts
  end
end

local function push_frames(value, pending, seen)
  each_frame(value, function(_, stop, _, record_start)
    push_refs(string.sub(value, record_start, stop), pending, seen)
  end)
end

-- Read what scripts ask of meta; a field that is not there is false. Each call of the server costs more than all that a
-- script does with its answer, so what stores a checkpoint or writes asks once.
local function read_meta()
  local found = redis.call('HMGET', META, 'g', 'k', 'm', 'th', 'tn', 'ttl')
  return {g = found[1], k = found[2], m = found[3], th = found[4], tn = found[5], ttl = found[6]}
end

-- Give every key of the thread the same expiry. A per-thread override in meta wins ("0": never).
local function touch(ttl_ms, override)
  local ttl = override or ttl_ms
  if not tonumber(ttl) then return end
  for i = 1, 9 do
    if ttl == '0' then redis.call('PERSIST', KEYS[i]) else redis.call('PEXPIRE', KEYS[i], ttl) end
  end
end

-- A held lease refuses everyone who does not show its token; a lost one refuses the holder that lost it to another.
-- meta, lease: where these are another thread's.
local function lease_refuses(token, meta, lease)
  local holder = redis.call('GET', lease or LEASE)
  if holder then return holder ~= token end
  if token == '' then return false end
  local last = redis.call('HGET', meta or META, 'f')
  return last and last ~= token
end

local function note_holder(token)
  if token ~= '' and redis.call('EXISTS', LEASE) == 1 then redis.call('HSET', META, 'f', token) end
end

local function head_of(ns)
  return redis.call('ZREVRANGEBYLEX', INDEX, '(' .. ns .. '\1', '[' .. ns .. '\0', 'LIMIT', 0, 1)[1]
end

-- Return a digest that every write to the thread of these keys changes; not the name of who held its lease last. Hashes give
-- their fields in any order. One value is looked at at a time. Items and blobs never change; they are counted, which stops with WRONGTYPE where
-- the key belongs to something else.
local function stamp_of(keys)
  local marks = redis.call('HMGET', keys[1], 'g', 'k', 'm', 'th', 'tn', 'ttl')
  for i = 1, 6 do marks[i] = redis.sha1hex(marks[i] or '') end
  for _, i in ipairs({2, 7}) do marks[#marks + 1] = redis.call('HLEN', keys[i]) end
  for _, i in ipairs({3, 5, 6, 8}) do
    local fields = redis.call('HKEYS', keys[i])
    for at, name in ipairs(fields) do fields[at] = redis.sha1hex(name) .. redis.sha1hex(redis.call('HGET', keys[i], name)) end
    table.sort(fields)
    marks[#marks + 1] = redis.sha1hex(table.concat(fields))
  end
  return redis.sha1hex(table.concat(marks, ' '))
end

-- Tell whether some keys of the thread are gone while others are there, as after an eviction.
-- A thread without checkpoints has writes, or is being loaded: then meta has no `m` yet. Its turn log went with them.
-- Stops with WRONGTYPE where one of the keys that it asks for their length belongs to something else.
-- has_ckpts, has_index: true where the caller has found something in these keys.
local function is_broken(meta, has_ckpts, has_index)
  if meta.g == '' then return true end
  local ckpts = has_ckpts or redis.call('HLEN', CKPTS) > 0
  if ckpts ~= (has_index or redis.call('EXISTS', INDEX) == 1) then return true end
  if ckpts then return not meta.g or redis.call('HLEN', ITEMS) == 0 end
  if not meta.g then return redis.call('HLEN', ITEMS) + redis.call('HLEN', WRITES) > 0 end
  return meta.th or (meta.m and redis.call('HLEN', WRITES) == 0)
end

-- Stop with WRONGTYPE before the first write when a key belongs to something else: later, half of a call would be done.
local function check_types()
  for _, i in ipairs({1, 2, 3, 5, 6, 7, 8}) do redis.call('HLEN', KEYS[i]) end
  redis.call('ZSCORE', INDEX, '')
  redis.call('SCARD', RUNS)
  for i = 10, 11 do redis.call('GET', KEYS[i]) end
end

-- The same for a call that writes blobs and media records only where it brings some: `media` and `blobs` of them, or blobs
-- sent before. Where all keys expire together, all are looked at.
local function check_media(media, blobs, sent, expires)
  if expires then return check_types() end
  if blobs > 0 or sent ~= '' then redis.call('HLEN', BLOBS) end
  if media > 0 then redis.call('HLEN', MEDIA) end
end

-- Stop before the first write when this user may not run a command that comes later: half of the call would be done.
-- Keys need no look: a server takes a script only from who may read and write all of its KEYS.
local function check_rights(...)
  local function refusal(name)
    return "NOPERM this user has no permissions to run the '" .. string.lower(name) .. "' command"
  end
  if redis.acl_check_cmd then
    for _, name in ipairs({...}) do
      if not redis.acl_check_cmd(name, META) then error({err = refusal(name)}) end
    end
    return
  end
  -- Redis 6.2 cannot be asked: each command is run so that nothing changes. A full server refuses only what
  -- comes first, so ZADD, HSET or SADD must.
  local typed, spare = redis.call('EXISTS', INDEX) == 1, nil
  for i = 11, 1, -1 do
    spare = spare or (redis.call('EXISTS', KEYS[i]) == 0 and KEYS[i])
  end
  local other = typed and INDEX or META -- a key of another type than these commands take, or one that is mended after them
  local calls = {
    ZADD = {INDEX, 'XX', 0, ''}, ZREM = {INDEX, ''}, ZRANGE = {INDEX, 0, 0}, GET = {GONE}, SMEMBERS = spare and {spare},
    HSET = {other, 'probe', ''}, HDEL = {META, ''}, HGET = {META, ''}, HMGET = {META, ''}, HEXISTS = {META, ''},
    HSTRLEN = {META, ''}, HKEYS = {META}, HVALS = {META}, HLEN = {META}, PTTL = {META}, EXISTS = {META}, SADD = {other, ''},
    SET = spare and {spare, '', 'XX'}, UNLINK = spare and {spare}, PEXPIRE = spare and {spare, 1}, PERSIST = spare and {spare},
    RENAME = spare and {spare, spare},
  }
  local names = typed and {...} or {'ZADD', 'HDEL', ...} -- HDEL mends
  for _, name in ipairs(names) do
    local mended = not typed and (name == 'SADD' or name == 'HSET')
    if mended and name == 'SADD' then redis.call('HSET', META, 'probe', '') end
    local reply = calls[name] and redis.pcall(name, unpack(calls[name]))
    if mended then redis.call('HDEL', META, 'probe') end
    local told = type(reply) == 'table' and reply.err or ''
    if string.find(told, "can't run") then error(refusal(name)) end
    if string.find(told, 'OOM') then error(told) end
  end
end

-- Enter a thread, and a run of it, where listings look: KEYS from 12 on are the registry shard, when `now` is given, and
-- the run index shard. A key of something else there stops the call before the first write.
local function check_registers()
  for i = 12, #KEYS do redis.call('ZSCORE', KEYS[i], '') end
end

local function register(now, thread_id, run)
  if now ~= '' and KEYS[12] then redis.call('ZADD', KEYS[12], now, thread_id) end
  local index = KEYS[now == '' and 12 or 13]
  if index then redis.call('ZADD', index, 0, run .. thread_id) end
end

-- Store the fields and values from `at` to `last` of a list into `key`.
local function store_range(key, list, at, last)
  for from = at, last, 2 * CHUNK do redis.call('HSET', key, unpack(list, from, math.min(from + 2 * CHUNK - 1, last))) end
end

-- The position after counted pairs of the arguments from position `at`.
local function after_pairs(at) return at + 1 + 2 * tonumber(A[at]) end

-- Store counted pairs of the arguments from position `at` into `key`; returns the position after them.
local function store_pairs(key, at)
  local after = after_pairs(at)
  store_range(key, A, at + 1, after - 1)
  return after
end

-- Drop the fields of a list from `at` to `last` from `key`.
local function drop_range(key, list, at, last)
  for from = at, last, CHUNK do redis.call('HDEL', key, unpack(list, from, math.min(from + CHUNK - 1, last))) end
end

-- Store what stands beside the packed arguments: names and bytes of `blobs` blobs, then of large items.
local function store_apart(blobs)
  store_range(BLOBS, ARGV, 2, 1 + 2 * blobs)
  store_range(ITEMS, ARGV, 2 + 2 * blobs, #ARGV)
end

-- Tell whether one of these concatenated refs, on which a call builds, names nothing: the server has lost what it had
-- confirmed, as after a failover to a replica that lagged, or after a snapshot was put back. What is there brings along all
-- that it names.
local function lacks(refs)
  for i = 1, #refs, 16 do
    local ref = string.sub(refs, i, i + 15)
    if redis.call('HEXISTS', ITEMS, ref) == 0 and redis.call('HEXISTS', MEDIA, ref) == 0 then return true end
  end
  return false
end

-- List what a call may not write over unread, each with '1' if its bytes are in the thread: records of media that tell, or
-- may, of uploads, and those of bytes in the thread where the call brings none. `read`: the names of records that the call
-- knows, each with the SHA-1 in hex of what it has read there. `at`: where its counted pairs of records are. `sent`: blobs
-- that came just before. A record whose name has 40 '-' in `read` is of bytes that nobody has, and takes the place of no other.
local function unread_media(read, at, blobs, sent)
  local found, brought = {'told'}, {}
  for i = 2, 2 * blobs, 2 do brought[ARGV[i]] = true end
  for i = 1, #sent, 16 do brought[string.sub(sent, i, i + 15)] = true end
  for i = at + 1, after_pairs(at) - 1, 2 do
    local name = A[i]
    local there = #name == 16 and redis.call('HGET', MEDIA, name)
    if there and not string.find(read, name .. redis.sha1hex(there), 1, true) then
      local kept = redis.call('HEXISTS', BLOBS, name) == 1
      local sealed, more = string.byte(there) == 0x93, string.find(there, '\167uploads', 1, true)
      local alone = string.find(read, name .. string.rep('-', 40), 1, true)
      if sealed or more or alone or (kept and not brought[name]) then
        for _, part in ipairs({name, there, kept and '1' or '0'}) do found[#found + 1] = part end
      end
    end
  end
  return found
end

-- Take back blobs that came just before, in the same transaction; those that the thread had are in its media table.
local function take_back(sent)
  for at = 1, #sent, 16 do
    local ref = string.sub(sent, at, at + 15)
    if redis.call('HEXISTS', MEDIA, ref) == 0 then redis.call('HDEL', BLOBS, ref) end
  end
end

-- Run what stores a call; when it refuses or fails, the blobs sent before it go.
local function with_sent(sent, store)
  if sent == '' then return store() end
  local done, reply = pcall(function()
    -- Redis 7.0 does not say which command was refused within a pcall.
    check_rights('GET', 'EXISTS', 'HEXISTS', 'HGET', 'HLEN', 'HMGET', 'ZREVRANGEBYLEX', 'ZSCORE', 'SCARD')
    return store()
  end)
  if not done or reply[1] ~= 'ok' then pcall(take_back, sent) end
  if not done then error(reply, 0) end
  return reply
end

-- Tell whether the client is right about the thread's generation. Returns nil when it is, else the reply to give.
local function differs_from(meta, expected, has_ckpts, has_index)
  if is_broken(meta, has_ckpts, has_index) then return {'broken'} end
  if (meta.g or '') ~= expected then return {'stale', meta.g or '', meta.k or ''} end
  return nil
end

-- Begin a thread that is not there yet.
local function begin(fresh, aux, thread_id)
  redis.call('HSET', META, 'g', fresh, 't', thread_id)
  if aux ~= '' then redis.call('HSET', META, 'k', aux) end
end
