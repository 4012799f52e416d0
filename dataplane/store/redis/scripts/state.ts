/**
 * The beginning of every script: the clock, one tenant's state, its leases and its graves (what expired leases were
 * charged). A script changes nothing before it has read all that it needs, so an error leaves nothing half done.
 *
 * KEYS: state, leases, graves, then the hashes of windows.
 * ARGV: the moment after which the call is too late (0: never), the field of the replica in windows, how many windows,
 * their names; the arguments of each script follow after `offset`.
 *
 * A reply begins with a code and the time. Codes below zero have changed nothing: -1 the caller's clock is wrong (or the
 * call is late), -2 the script needs these windows too, -3 the window has lost what the caller wrote.
 */

/** State and leases of an idle tenant are dropped after this time, which is longer than a month's window. */
const IDLE_MS = 35 * 86_400_000

/** The same for counters of limits that requests run in; without those, until their buckets are empty and a little longer. */
const LIMIT_IDLE_MS = 86_400_000
const LIMIT_QUIET_MS = 60_000

/** A budget in total is dropped if nothing is charged to it for this time. */
const FOR_EVER_MS = 400 * 86_400_000

/** Tells the server that this is a script and its language. */
export const SHEBANG = '#!lua\n'

export const OPENING = `
local call, encode, decode = redis.call, cmsgpack.pack, cmsgpack.unpack
local max, min, floor, ceil = math.max, math.min, math.floor, math.ceil
local STATE, LEASES, GRAVES = KEYS[1], KEYS[2], KEYS[3]
local IS_LIMIT = string.find(STATE, ':v1:{limit:', 1, true) or string.find(STATE, '}:limit:', 1, true)
local IDLE = IS_LIMIT and '${LIMIT_IDLE_MS}' or '${IDLE_MS}'
local SAFE, UNIT, LEASE, WANTED = 9007199254740991, 60000, 15000, 1000
local time = call('TIME')
local now = time[1] * 1000 + floor(time[2] / 1000)
local late = tonumber(ARGV[1])
if late > 0 and (now > late or now < late - 4000) then return { -1, now } end
local REPLICA = ARGV[2]
local windows = {}
local offset = 3 + tonumber(ARGV[3])
for i = 4, offset do windows[ARGV[i]] = { key = KEYS[i] } end

-- Both buckets: units in use, the moment of that level, the rate a minute (as many units leak a millisecond), the capacity.
local requestLevel, requestAt, requestRate, requestCapacity = 0, 0, 0, 0
local tokenLevel, tokenAt, tokenRate, tokenCapacity = 0, 0, 0, 0
-- How many requests run, a moment before which no lease expires, a counter of renewals, what the present windows reserve.
local running, expiry, turn, day, dayHeld, month, monthHeld = 0, 0, 0, '', 0, '', 0
-- When a request last lacked what slices had set aside, and the slices: of each when it expires, its last call, its day
-- and month, slots, tokens and nanos in use; idle requests, tokens of the rate, slots, tokens and nanos; requests and
-- tokens of the rate that were used so far; tokens and nanos in use that are charged if the replica has ended.
local wantedAt, slices = 0, {}
local changed = false
local saved = call('GET', STATE)
if saved then
  requestLevel, requestAt, requestRate, requestCapacity, tokenLevel, tokenAt, tokenRate, tokenCapacity,
    running, expiry, turn, day, dayHeld, month, monthHeld, wantedAt, slices = decode(saved)
  if type(wantedAt) ~= 'number' or type(slices) ~= 'table' then wantedAt, slices = 0, {} end
end

local function levelAt(level, at, rate) return max(0, level - max(0, now - at) * rate) end

-- Clients make up values that limits count, so a counter without anything to remember goes soon.
local function lifeOfState()
  if not IS_LIMIT or running > 0 or next(slices) then return IDLE end
  local requests = requestRate > 0 and levelAt(requestLevel, requestAt, requestRate) / requestRate or 0
  local tokens = tokenRate > 0 and levelAt(tokenLevel, tokenAt, tokenRate) / tokenRate or 0
  return string.format('%.0f', min(${IDLE_MS}, ceil(max(requests, tokens)) + ${LIMIT_QUIET_MS}))
end

local function save()
  local state = encode(
    requestLevel, requestAt, requestRate, requestCapacity, tokenLevel, tokenAt, tokenRate, tokenCapacity,
    running, expiry, turn, day, dayHeld, month, monthHeld)
  if next(slices) or now - wantedAt < WANTED then state = state .. encode(wantedAt, slices) end
  call('SET', STATE, state, 'PX', lifeOfState())
end

local function poured(level, at, rate, cost)
  return max(0, min(SAFE, levelAt(level, at, rate) + max(-1e11, min(1e11, cost)) * UNIT))
end

-- The charge of the estimate becomes the charge of the usage.
local function correctTokens(rated, used)
  if rated < 0 or tokenRate == 0 then return end
  tokenLevel = poured(tokenLevel, tokenAt, tokenRate, used - rated)
  tokenAt = now
end

local function hold(dayName, tokens, monthName, nanos)
  if dayName == day then dayHeld = max(0, dayHeld + tokens) end
  if monthName == month then monthHeld = max(0, monthHeld + nanos) end
end

-- What slices hold in windows of a name, in use and idle.
local function asideIn(name)
  local sum = 0
  for _, slice in pairs(slices) do
    if slice[3] == name then sum = sum + slice[6] + slice[11] end
    if slice[4] == name then sum = sum + slice[7] + slice[12] end
  end
  return sum
end

-- A slice of which nothing is in use and idle.
local function emptySlice(number, dayName, monthName, requests, rated)
  return { now + LEASE, number, dayName, monthName, 0, 0, 0, 0, 0, 0, 0, 0, requests, rated, 0, 0 }
end

-- The mark of a state that was lost, for as long as replicas come that pour again.
local function markLost(dayName, monthName)
  slices.new, changed = emptySlice(0, dayName, monthName, 0, 0), true
end

local function lease(command, id, ...)
  turn = turn + 1
  return call(command, LEASES, id, encode(now + LEASE, turn, ...))
end

-- Returns whether the id is new. A hash with one long value is a table, else hundreds of leases are a list to walk.
local function start(id, dayName, monthName, tokens, nanos, usedTokens, usedNanos, rated, by)
  local padding = running == 0 and '${'.'.repeat(64)}' or nil
  local isNew = lease('HSETNX', id, dayName, monthName, tokens, nanos, usedTokens, usedNanos, rated, by, padding)
  if isNew == 0 then return false end
  if running == 0 or expiry > now + LEASE then expiry = now + LEASE end
  if running == 0 then call('PEXPIRE', LEASES, IDLE) end
  running = running + 1
  hold(dayName, tokens, monthName, nanos)
  changed = true
  return true
end

local function stop()
  running = max(0, running - 1)
  if running == 0 then dayHeld, monthHeld = 0, 0 end
end
`

export const BEGINNING = `${SHEBANG}${OPENING}`

/**
 * A window's hash: \`sum\` is what is settled, \`base\` the part of it that belongs to no living replica, \`expired\` the part of
 * that which a late settlement may take back, \`born\` marks one life of the hash, a text says which alerts went to which
 * request, and each replica has a field with the absolute total of what it settled and when it wrote last. After a loss,
 * \`loose\` is the part of the sum that no field and no base has: what replicas had written that have not come back since.
 */
export const LEDGERS = `
local function ledger(name)
  local window = windows[name]
  if window.sum then return window end
  local fields = call('HMGET', window.key, 'sum', 'base', 'born', REPLICA, 'told', 'expired', 'loose')
  window.sum, window.base, window.born = tonumber(fields[1] or 0), tonumber(fields[2] or 0), tonumber(fields[3] or 0)
  window.alerted, window.expired = fields[5] or ' ', tonumber(fields[6] or 0)
  window.mine, window.writtenAt = -1, now
  if fields[4] then window.mine, window.writtenAt = decode(fields[4]) end
  window.loose, window.lostAt = 0, 0
  if fields[7] then window.loose, window.lostAt = decode(fields[7]) end
  return window
end

-- Whether the window knows less than it once returned to the caller. A total below zero is one that may have been folded.
local function lost(window, born, mine)
  if born == 0 then return false end
  return window.born ~= born or (mine > 0 and window.mine < mine) or (window.mine >= 0 and window.mine < -mine)
end

local function add(window, amount)
  window.sum = max(0, min(SAFE, window.sum + amount))
  window.changed = true
end

-- Whether the caller has not written in the window since a part of it was lost.
local function isFromBefore(window)
  return window.loose > 0 and (window.mine < 0 or window.writtenAt < window.lostAt)
end

local function loosen(window, amount, at)
  if amount == window.loose then return end
  window.loose, window.lostAt, window.looseChanged = amount, at, true
end

-- What a lease used that has expired; less than nothing where a settlement found its grave and takes that back.
local function addExpired(window, amount)
  if amount == 0 then return end
  add(window, amount)
  window.base = max(0, min(SAFE, window.base + amount))
  window.expired = max(0, min(SAFE, window.expired + amount))
  window.expiredChanged = true
end

-- Many replicas come and go in a month, so their fields are folded into the base once they are old.
local function fold(window)
  if call('HLEN', window.key) < 128 then return end
  local fields = call('HGETALL', window.key)
  for i = 1, #fields, 2 do
    if string.sub(fields[i], 1, 2) == 'r:' then
      local total, writtenAt = decode(fields[i + 1])
      if now - writtenAt > 3600000 then
        window.base = min(SAFE, window.base + total)
        call('HDEL', window.key, fields[i])
      end
    end
  end
end

-- The caller's absolute total: only what it is more than before is new.
local function total(window, whole, mine)
  if whole <= window.mine or (whole == 0 and window.mine < 0) then return end
  local isBack = isFromBefore(window)
  if window.mine < 0 then
    fold(window)
    window.mine = max(0, -mine)
    window.base = max(0, window.base - window.mine)
  end
  local more = max(0, whole - window.mine)
  if isBack and now - window.lostAt < 3600000 then
    -- The sum has a part of it, which the caller wrote before the loss without an answer.
    local had = min(window.loose, more)
    more = more - had
    loosen(window, window.loose - had, window.lostAt)
  end
  add(window, more)
  window.mine = max(window.mine, whole)
  window.mineChanged = true
end

local function write(window, ttl)
  window.changed = false
  if window.born == 0 then
    local birth = call('TIME')
    window.born = birth[1] * 1000000 + birth[2]
    call('HSET', window.key, 'born', window.born)
    call('PEXPIRE', window.key, ttl)
  end
  if window.expiredChanged then call('HSET', window.key, 'expired', window.expired) end
  if window.looseChanged then call('HSET', window.key, 'loose', encode(window.loose, window.lostAt)) end
  if window.alertedChanged then call('HSET', window.key, 'told', window.alerted) end
  if window.mineChanged then
    call('HSET', window.key, 'sum', window.sum, 'base', window.base, REPLICA, encode(window.mine, now))
  else
    call('HSET', window.key, 'sum', window.sum, 'base', window.base)
  end
end

-- The name of a window of a limit has its beginning and its end. One without an end goes if it is not used for long.
local function lifeOf(name)
  local startsAt, resetsAt = string.match(name, '^%a(%d+)%-(%d+)$')
  if resetsAt then
    local life = max(0, resetsAt - now) + min(${3 * 86_400_000}, resetsAt - startsAt)
    return string.format('%.0f', min(life, ${FOR_EVER_MS})), life > ${FOR_EVER_MS}
  end
  return #name == 10 and ${3 * 86_400_000} or ${70 * 86_400_000}
end

local function writeWindows()
  for name, window in pairs(windows) do
    if window.changed then
      local life, isRenewed = lifeOf(name)
      write(window, life)
      if isRenewed then call('PEXPIRE', window.key, life) end
    end
  end
end

-- The caller remembers these figures of a window.
local function tell(reply, name)
  local window = windows[name]
  local i = #reply
  reply[i + 1], reply[i + 2], reply[i + 3], reply[i + 4], reply[i + 5] =
    window.sum, window.base, window.mine, window.born, window.expired
end
`
