/** Rows of usage in the shared store: a hash for each hour and each day, and what each replica has added to an hour. */
import type { Script } from '../link.ts'

/** Hours are kept for 8 days, days for 13 months, the totals of a replica for as long as it may repeat them. */
export const HOURS_KEPT = 8 * 24
export const DAYS_KEPT = 396
export const REPEATED_HOURS = 48

const HOUR_MS = 3_600_000
const HOUR_TTL = HOURS_KEPT * HOUR_MS
const DAY_TTL = DAYS_KEPT * 24 * HOUR_MS
const SEEN_TTL = (REPEATED_HOURS + 1) * HOUR_MS

/** Rows of one hash. Beyond that, new rows count without their key and tags. */
const ROWS_MAX = 10_000

/**
 * KEYS: the hour, the day, what this replica has added to the hour, the turn of its last call, the first hour of all.
 * ARGV: the turn that was answered last, the turn of this call, the hour; then for each row its name and its totals.
 *
 * Totals are absolute: only what is more than before is new, so a call that is repeated, late or out of order adds nothing
 * twice. Reply: 1 and how many rows were folded, or -3 where the store knows less than it has answered; then nothing has changed.
 */
export const WRITE_USAGE: Script = {
  name: 'usage',
  lua: `
local call = redis.call
local answered, turn, hour = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local known = tonumber(call('GET', KEYS[4]) or 0)
if known < answered then return { -3 } end

local names, totals = {}, {}
for i = 4, #ARGV, 2 do
  names[#names + 1] = ARGV[i]
  totals[#totals + 1] = ARGV[i + 1]
end

local function numbers(text)
  local list = {}
  for number in string.gmatch(text or '', '%d+') do list[#list + 1] = tonumber(number) end
  return list
end

local function packed(list)
  local texts = {}
  for i = 1, #list do texts[i] = string.format('%.0f', list[i]) end
  return table.concat(texts, ',')
end

local function plus(sum, more)
  for i = 1, #more do sum[i] = math.min(9007199254740991, (sum[i] or 0) + more[i]) end
  return sum
end

local function write(hash, rows, ttl)
  local fields = {}
  for name, list in pairs(rows) do
    fields[#fields + 1] = name
    fields[#fields + 1] = packed(list)
  end
  if #fields > 0 then call('HSET', hash, unpack(fields)) end
  call('PEXPIRE', hash, ttl)
end

local news, seen = {}, {}
if #names > 0 then
  local before = call('HMGET', KEYS[3], unpack(names))
  for i = 1, #names do
    local old, whole, new, isNew = numbers(before[i]), numbers(totals[i]), {}, false
    for at = 1, #whole do
      new[at] = math.max(0, whole[at] - (old[at] or 0))
      whole[at] = math.max(whole[at], old[at] or 0)
      if new[at] > 0 then isNew = true end
    end
    if isNew then
      news[#news + 1] = { name = names[i], amounts = new }
      seen[names[i]] = whole
    end
  end
end

local foldedRows = 0
local function folded(name)
  foldedRows = foldedRows + 1
  return (string.gsub(name, '^([^\\n]*)\\n[^\\n]*\\n([^\\n]*\\n[^\\n]*\\n[^\\n]*)\\n.*$', '%1\\nother\\n%2\\nother'))
end

local function add(hash, ttl)
  local asked, rows = {}, {}
  for i = 1, #news do asked[i] = news[i].name end
  local before, length = call('HMGET', hash, unpack(asked)), call('HLEN', hash)
  for i = 1, #news do
    local name, old = asked[i], before[i]
    if not old and length >= ${ROWS_MAX} then
      name = folded(name)
      old = call('HGET', hash, name)
    end
    if not old and not rows[name] then length = length + 1 end
    rows[name] = plus(rows[name] or numbers(old or nil), news[i].amounts)
  end
  write(hash, rows, ttl)
end

if #news > 0 then
  add(KEYS[1], '${HOUR_TTL}')
  local foldedOfHour = foldedRows
  add(KEYS[2], '${DAY_TTL}')
  foldedRows = foldedOfHour
  write(KEYS[3], seen, '${SEEN_TTL}')
  local first = call('GET', KEYS[5])
  call('SET', KEYS[5], first and first < hour and first or hour, 'PX', '${DAY_TTL}')
end
call('SET', KEYS[4], string.format('%.0f', math.max(known, turn)), 'PX', '${SEEN_TTL}')
return { 1, foldedRows }
`,
}

/** Reply: the first hour of all, then the rows of as many hashes as are read at a time, names and totals in turn. */
export const READ_USAGE: Script = {
  name: 'read-usage',
  lua: `
local call = redis.call
local reply, length = { call('GET', KEYS[1]) or '' }, 0
for i = 2, #KEYS do
  local rows = call('HGETALL', KEYS[i])
  reply[i] = rows
  length = length + #rows
  if length > 4000 then break end
end
return reply
`,
}
