/** Leases while their requests run: they are renewed, and they grow. */
import type { Script } from '../link.ts'
import { EXPIRY } from './expiry.ts'
import { BEGINNING, LEDGERS } from './state.ts'

/**
 * Windows: all that the leases are in. ARGV after `offset`, ten for each lease: id, whether it may be put back (1) where it
 * is gone, day, month, tokens and nanos reserved, tokens and nanos used, tokens charged to the rate (-1: none), and what
 * downgraded it (0, 1, 2).
 *
 * A lease that is gone is put back only for a caller that knows why it is gone: the store lost it, or could not be asked
 * for longer than leases last. Else a late call would take back a slot that another request has by now.
 * Reply: 1, the time, and for each: 1 renewed, 2 expired, 3 unknown.
 */
export const RENEW: Script = {
  name: 'renew',
  lua: `${BEGINNING}${LEDGERS}${EXPIRY}
for i = offset + 1, #ARGV, 10 do
  if ARGV[i + 1] == '1' then ledger(ARGV[i + 2]) ledger(ARGV[i + 3]) end
end
local missing = expire()
if missing then return missing end

local reply = { 1, now }
for i = offset + 1, #ARGV, 10 do
  local id, back = ARGV[i], ARGV[i + 1] == '1'
  local usedTokens, usedNanos = tonumber(ARGV[i + 6]), tonumber(ARGV[i + 7])
  local known = call('HGET', LEASES, id)
  local answer = 1
  if known then
    local _, _, dayName, monthName, tokens, nanos, tokensBefore, nanosBefore, rated, by = decode(known)
    usedTokens, usedNanos = max(usedTokens, tokensBefore), max(usedNanos, nanosBefore)
    local newTokens, newNanos = max(tokens, usedTokens), max(nanos, usedNanos)
    hold(dayName, newTokens - tokens, monthName, newNanos - nanos)
    lease('HSET', id, dayName, monthName, newTokens, newNanos, usedTokens, usedNanos, rated, by)
    changed = true
  else
    local buried = call('HGET', GRAVES, id)
    answer = buried and 2 or 3
    if back and not (buried and #buried == 1) then
      local dayName, monthName = ARGV[i + 2], ARGV[i + 3]
      local rated, by = tonumber(ARGV[i + 8]), tonumber(ARGV[i + 9])
      if not saved then markLost(dayName, monthName) end
      if buried then
        local tokens, nanos, ratedLast = decode(buried)
        call('HDEL', GRAVES, id)
        addExpired(ledger(dayName), -tokens)
        addExpired(ledger(monthName), -nanos)
        rated = ratedLast
        usedTokens, usedNanos = max(usedTokens, tokens), max(usedNanos, nanos)
      end
      local tokens = max(tonumber(ARGV[i + 4]), usedTokens)
      local nanos = max(tonumber(ARGV[i + 5]), usedNanos)
      start(id, dayName, monthName, tokens, nanos, usedTokens, usedNanos, rated, by)
      answer = 1
    end
  end
  reply[#reply + 1] = answer
end
if running > 0 then call('PEXPIRE', LEASES, IDLE) end
if changed then save() end
writeWindows()
return reply
`,
}

/**
 * Windows: the day and the month of the hold. ARGV after `offset`: id, tokens and nanos wanted, caps of day and month (-1:
 * none), 1 where it is a count, to which the hold is lowered. Reply: 1, the time, 1 if it is held.
 */
export const EXTEND: Script = {
  name: 'extend',
  lua: `${BEGINNING}${LEDGERS}${EXPIRY}
local function arg(i) return tonumber(ARGV[offset + i]) end
local known = call('HGET', LEASES, ARGV[offset + 1])
if known then ledger(ARGV[4]) ledger(ARGV[5]) end
local missing = expire()
if missing then return missing end

-- The sum that a window's leases hold, also where it is not the present one.
local function heldIn(name, present, held, index)
  if name == present then return held end
  local sum, all = 0, call('HVALS', LEASES)
  for i = 1, #all do
    local lease = { decode(all[i]) }
    if lease[index] == name then sum = sum + lease[index + 2] end
  end
  return sum
end

local function leavesRoom(name, cap, held, by)
  if cap < 0 then return true end
  local window = ledger(name)
  if window.sum >= cap then return by > 0 end
  return window.sum + held + asideIn(name) < cap
end

local grew = 0
known = known and call('HGET', LEASES, ARGV[offset + 1])
if known then
  local expiresAt, leaseTurn, dayName, monthName, tokens, nanos, usedTokens, usedNanos, rated, by = decode(known)
  local newTokens, newNanos = max(tokens, arg(2)), max(nanos, arg(3))
  local isCount = arg(6) == 1
  if isCount then
    newTokens, newNanos = min(tokens, max(arg(2), usedTokens)), min(nanos, max(arg(3), usedNanos))
    local lowered = min(rated, newTokens)
    correctTokens(rated, lowered)
    rated = lowered
  end
  if isCount or (newTokens == tokens or leavesRoom(dayName, arg(4), heldIn(dayName, day, dayHeld, 3), by))
    and (newNanos == nanos or leavesRoom(monthName, arg(5), heldIn(monthName, month, monthHeld, 4), by)) then
    hold(dayName, newTokens - tokens, monthName, newNanos - nanos)
    local grown =
      encode(expiresAt, leaseTurn, dayName, monthName, newTokens, newNanos, usedTokens, usedNanos, rated, by)
    call('HSET', LEASES, ARGV[offset + 1], grown)
    changed = true
    grew = 1
  end
end
if changed then save() end
writeWindows()
return { 1, now, grew }
`,
}
