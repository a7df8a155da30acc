-- Say whether a thread is there. Reply: {generation or '', highest checkpoint id or '', 'broken', 'foreign' (a key belongs to
--   something else) or ''}.
local done, reply = pcall(function()
  local meta = read_meta()
  return {meta.g or '', meta.m or '', is_broken(meta) and 'broken' or ''}
end)
if done then return reply end
local text = type(reply) == 'table' and reply.err or reply -- a table from Redis 7 on
if string.find(text, 'WRONGTYPE', 1, true) then return {'', '', 'foreign'} end
error(reply, 0)
