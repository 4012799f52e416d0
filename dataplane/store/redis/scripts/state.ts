/**
 * What every script begins with: the clock, one tenant's state, its leases and what expired of them. A script changes
 * nothing before all that it needs has been read, so an error leaves nothing half done.
 *
 * KEYS: state, leases, graves, then the hashes of windows.
 * ARGV: the time (0: ask the server), the moment after which the call is too late (0: never), the field of the replica in
 * windows, how many windows, their names; the rest is the script's own.
 *
 * A reply begins with a code and the time. Codes below zero have changed nothing: -1 the caller's clock is wrong (or the
 * call is late), -2 these windows are needed too, -3 the window has lost what the caller wrote.
 */

/** State and leases of a tenant that nobody asks for are dropped after so long: longer than a month's window. */
const IDLE_MS = 35 * 86_400_000

export const BEGINNING = `#!lua
local call, pack, unpack_ = redis.call, cmsgpack.pack, cmsgpack.unpack
local max, min, floor, ceil = math.max, math.min, math.floor, math.ceil
local STATE, LEASES, GRAVES = KEYS[1], KEYS[2], KEYS[3]
local SAFE, UNIT, LEASE = 9007199254740991, 60000, 15000
local now = tonumber(ARGV[1])
if now == 0 then
  local t = call('TIME')
  now = t[1] * 1000 + floor(t[2] / 1000)
end
local late = tonumber(ARGV[2])
if late > 0 and (now > late or now < late - 4000) then return { -1, now } end
local MINE = ARGV[3]
local windows = {}
local o = 4 + tonumber(ARGV[4])
for i = 5, o do windows[ARGV[i]] = { key = KEYS[i - 1] } end

-- Of the buckets of requests (q) and tokens (t): units in use, at which moment, a minute's rate, the capacity. Then the
-- running requests, a moment before which no lease expires, a counter of renewals, and what is reserved in two windows.
local ql, qa, qp, qc, tl, ta, tp, tc = 0, 0, 0, 0, 0, 0, 0, 0
local running, expiry, turn, day, dayHeld, month, monthHeld = 0, 0, 0, '', 0, '', 0
local changed = false
local blob = call('GET', STATE)
if blob then
  ql, qa, qp, qc, tl, ta, tp, tc, running, expiry, turn, day, dayHeld, month, monthHeld = unpack_(blob)
end

local function save()
  call('SET', STATE, pack(ql, qa, qp, qc, tl, ta, tp, tc, running, expiry, turn, day, dayHeld, month, monthHeld),
    'PX', '${IDLE_MS}')
end

local function levelAt(level, at, rate) return max(0, level - max(0, now - at) * rate) end

local function poured(level, at, rate, cost)
  return max(0, min(SAFE, levelAt(level, at, rate) + max(-1e11, min(1e11, cost)) * UNIT))
end

-- What a request was charged by its estimate becomes what it used.
local function correctTokens(rated, used)
  if rated < 0 or tp == 0 then return end
  tl = poured(tl, ta, tp, used - rated)
  ta = now
end

local function hold(d, tokens, m, nanos)
  if d == day then dayHeld = max(0, dayHeld + tokens) end
  if m == month then monthHeld = max(0, monthHeld + nanos) end
end

local function lease(command, id, ...)
  turn = turn + 1
  return call(command, LEASES, id, pack(now + LEASE, turn, ...))
end

-- Returns whether the id is new. A hash with one long value is a table, else hundreds of leases are a list to walk.
local function start(id, d, m, tokens, nanos, usedTokens, usedNanos, rated, by)
  local padding = running == 0 and '${'.'.repeat(64)}' or nil
  if lease('HSETNX', id, d, m, tokens, nanos, usedTokens, usedNanos, rated, by, padding) == 0 then return false end
  if running == 0 or expiry > now + LEASE then expiry = now + LEASE end
  if running == 0 then call('PEXPIRE', LEASES, '${IDLE_MS}') end
  running = running + 1
  hold(d, tokens, m, nanos)
  changed = true
  return true
end

local function stop()
  running = max(0, running - 1)
  if running == 0 then dayHeld, monthHeld = 0, 0 end
end
`

/**
 * A window's hash: \`sum\` is what is settled, \`base\` the part of it that belongs to no living replica, \`born\` tells one
 * life of the hash from the next, \`told\` which alerts were told by which request, and each replica has a field with the
 * absolute total of what it settled and when it wrote last.
 */
export const LEDGERS = `
local function ledger(name)
  local w = windows[name]
  if w.sum then return w end
  local v = call('HMGET', w.key, 'sum', 'base', 'born', MINE, 'told')
  w.sum, w.base, w.born = tonumber(v[1] or 0), tonumber(v[2] or 0), tonumber(v[3] or 0)
  w.told = v[5] or ' '
  w.mine, w.at = -1, now
  if v[4] then w.mine, w.at = unpack_(v[4]) end
  return w
end

-- Whether the window knows less than it has told the caller. A total below zero is one that may have been folded.
local function lost(w, born, mine)
  if born == 0 then return false end
  return w.born ~= born or (mine > 0 and w.mine < mine) or (w.mine >= 0 and w.mine < -mine)
end

local function add(w, amount, toBase)
  w.sum = max(0, min(SAFE, w.sum + amount))
  if toBase then w.base = max(0, min(SAFE, w.base + amount)) end
  w.changed = true
end

-- So many replicas come and go in a month that their fields are folded into the base once they are old.
local function fold(w)
  if call('HLEN', w.key) < 128 then return end
  local all = call('HGETALL', w.key)
  for i = 1, #all, 2 do
    if string.sub(all[i], 1, 2) == 'r:' then
      local total, at = unpack_(all[i + 1])
      if now - at > 3600000 then
        w.base = min(SAFE, w.base + total)
        call('HDEL', w.key, all[i])
      end
    end
  end
end

-- The caller's absolute total: only what it is more than before is new.
local function total(w, whole, mine)
  if whole <= w.mine or (whole == 0 and w.mine < 0) then return end
  if w.mine < 0 then
    fold(w)
    w.mine = max(0, -mine)
    w.base = max(0, w.base - w.mine)
  end
  add(w, max(0, whole - w.mine), false)
  w.mine = max(w.mine, whole)
  w.mineChanged = true
end

local function write(w, ttl)
  if not w.changed then return end
  w.changed = false
  local isNew = w.born == 0
  if isNew then
    local t = call('TIME')
    w.born = t[1] * 1000000 + t[2]
    call('HSET', w.key, 'born', w.born)
    call('PEXPIRE', w.key, ttl)
  end
  if w.toldChanged then call('HSET', w.key, 'told', w.told) end
  if w.mineChanged then
    call('HSET', w.key, 'sum', w.sum, 'base', w.base, MINE, pack(w.mine, now))
  else
    call('HSET', w.key, 'sum', w.sum, 'base', w.base)
  end
end

local function writeWindows()
  for name, w in pairs(windows) do
    if w.changed then write(w, #name == 10 and ${3 * 86_400_000} or ${70 * 86_400_000}) end
  end
end

-- What the caller remembers of a window.
local function tell(reply, name)
  local w = windows[name]
  local i = #reply
  reply[i + 1], reply[i + 2], reply[i + 3], reply[i + 4] = w.sum, w.base, w.mine, w.born
end
`

/**
 * Ends leases that nobody renewed, charges what they told last, and leaves a grave that a late settlement finds. Looks at
 * all leases only when the oldest that was there at the last look is due, and when the clock went back.
 */
export const EXPIRY = `
local function bury(id, ...)
  if call('HLEN', GRAVES) >= 10000 then call('HDEL', GRAVES, call('HRANDFIELD', GRAVES)) end
  call('HSET', GRAVES, id, pack(...))
  call('PEXPIRE', GRAVES, '86400000')
end

-- Returns a reply if windows are missing.
local function expire()
  if running == 0 or (now < expiry and expiry <= now + LEASE) then return end
  local all, due, missing, seen = call('HGETALL', LEASES), {}, { -2, now }, {}
  local next_, clamped = math.huge, {}
  for i = 1, #all, 2 do
    local ends, at, d, m, rt, rn, ut, un, rated, by = unpack_(all[i + 1])
    if ends <= now then
      due[#due + 1] = { id = all[i], at = at, d = d, m = m, rt = rt, rn = rn, ut = ut, un = un, rated = rated }
      for _, name in ipairs({ d, m }) do
        if not windows[name] and not seen[name] then
          seen[name] = true
          missing[#missing + 1] = name
        end
      end
    else
      if ends > now + LEASE then
        ends = now + LEASE
        clamped[#clamped + 1] = all[i]
        clamped[#clamped + 1] = pack(ends, at, d, m, rt, rn, ut, un, rated, by)
      end
      next_ = min(next_, ends)
    end
  end
  if #missing > 2 then return missing end
  for _, one in ipairs(due) do ledger(one.d) ledger(one.m) end
  table.sort(due, function(a, b) return a.at < b.at end)
  changed = true
  expiry = next_ == math.huge and 0 or next_
  for i = 1, #clamped, 2 do call('HSET', LEASES, clamped[i], clamped[i + 1]) end
  for _, one in ipairs(due) do
    call('HDEL', LEASES, one.id)
    hold(one.d, -one.rt, one.m, -one.rn)
    stop()
    if one.ut > 0 then add(ledger(one.d), one.ut, true) end
    if one.un > 0 then add(ledger(one.m), one.un, true) end
    correctTokens(one.rated, one.ut)
    local rated = one.rated
    if rated >= 0 then rated = one.ut end
    bury(one.id, one.ut, one.un, rated)
  end
end
`
