/** Claims of a replica on the slices that it has of several accounts: what it used, what it still has, what it wants. */
import type { Script } from '../link.ts'
import { STANDING } from './admit.ts'
import { EXPIRY } from './expiry.ts'
import { ALERTS } from './settle.ts'
import { LEDGERS, OPENING, SHEBANG } from './state.ts'

/**
 * The numbers after `offset`: 1 the slice, 2 the number of the call, 3 that of the last call whose reply the replica has,
 * 4 and 5 the day, 6 to 11 the rules, 12 to 15 the windows as last seen, 16 and 17 the caller's totals, 18 to 20 slots,
 * tokens and nanos in use, 21 to 25 idle requests, tokens of the rate, slots, tokens and nanos, 26 and 27 requests and tokens
 * of the rate that were used, 28 to 32 how much of each it wants idle, 33 and 34 tokens and nanos by which a running request
 * outgrew its hold, 35 and 36 tokens and nanos in use that are charged if the replica has ended; then the thresholds.
 */
const CLAIMED = `
local function arg(i) return tonumber(ARGV[offset + i]) end
local id, number, heard = ARGV[offset + 1], arg(2), arg(3)
local isPresent = now >= arg(4) and now < arg(5)
local rpm, burst, slots, tpm, dayCap, monthCap = arg(6), arg(7), arg(8), arg(9), arg(10), arg(11)
local dayName, monthName = ARGV[4], ARGV[5]
local dayLedger, monthLedger = ledger(dayName), ledger(monthName)
if lost(dayLedger, arg(12), arg(13)) or lost(monthLedger, arg(14), arg(15)) then return { -3, now } end
`

/**
 * A slice that the store does not know, because it expired or was forgotten, keeps what is in use and nothing idle. No claim
 * makes more idle than the slice had. A call that comes after a later one changes nothing.
 */
const SETTLED = `
-- Before anything expires, because nothing is saved then.
if slices[id] and number <= slices[id][2] then return { 2, now } end
local missing = expire()
if missing then return missing end
local slice = slices[id]
if isPresent then toPresentWindows() end
changed = true

local buried = not slice and call('HGET', GRAVES, id)
if buried and #buried > 1 then
  local tokens, nanos = decode(buried)
  call('HDEL', GRAVES, id)
  addExpired(dayLedger, -tokens)
  addExpired(monthLedger, -nanos)
end
total(dayLedger, arg(16), arg(13))
total(monthLedger, arg(17), arg(15))
if dayLedger.born == 0 then dayLedger.changed = true end
if monthLedger.born == 0 then monthLedger.changed = true end

local usedRequests, usedRated = 0, 0
if slice then
  usedRequests, usedRated = max(0, arg(26) - slice[13]), arg(27) - slice[14]
  requestLevel, requestAt = poured(requestLevel, requestAt, requestRate, usedRequests), now
  if tokenRate > 0 then tokenLevel, tokenAt = poured(tokenLevel, tokenAt, tokenRate, usedRated), now end
else
  slice = { 0, 0, dayName, monthName, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
end
local had = {
  slice[8] - usedRequests, slice[9] - max(0, usedRated), slice[5] + slice[10] - arg(18), slice[6] + slice[11] - arg(19),
  slice[7] + slice[12] - arg(20),
}
for i = 1, 5 do slice[7 + i] = max(0, min(arg(20 + i), had[i])) end
slice[1], slice[2], slice[5], slice[6], slice[7] = now + LEASE, number, arg(18), arg(19), arg(20)
slice[13], slice[14], slice[15], slice[16] = arg(26), arg(27), arg(35), arg(36)
slices[id] = slice
lookAtSlices()
`

/** The amounts that may be idle here: a fair share of 2 % of each counter, and nothing if less than 5 % is left. */
const GRANTED = `
local isWanted = now - wantedAt < WANTED and now >= wantedAt
local active = 0
for _, one in pairs(slices) do
  if one[5] + one[8] + one[10] + one[11] + one[12] > 0 or one == slice then active = active + 1 end
end

local function limitOf(cap, taken, idle)
  if isWanted or not isPresent or cap < 0 then return 0 end
  local free = cap - taken - idle
  if free < cap / 20 then return 0 end
  local all = max(cap / 50, min(active, cap / 20))
  return max(0, floor(min(all / active, all - idle, free / active)))
end

local limits = { 0, 0, 0, 0, 0 }
if isPresent then
  local levels = levelAt(requestLevel, requestAt, requestRate)
  limits[1] = limitOf(rpm < 0 and -1 or requestCapacity, ceil(levels / UNIT), requestsIdle - slice[8])
  limits[2] = limitOf(tpm, ceil(levelAt(tokenLevel, tokenAt, tokenRate) / UNIT), ratedIdle - slice[9])
  limits[3] = limitOf(slots, running + slotsUsed, slotsIdle - slice[10])
  limits[4] = limitOf(dayCap, dayLedger.sum + dayHeld + dayUsed, dayIdle - slice[11])
  limits[5] = limitOf(monthCap, monthLedger.sum + monthHeld + monthUsed, monthIdle - slice[12])
end
for i = 1, 5 do slice[7 + i] = max(slice[7 + i], min(arg(27 + i), limits[i])) end

-- The hold of a running request grows while less than the cap is used and held, as that of a lease does.
local function leavesRoom(name, cap, window, held)
  return cap < 0 or window.sum < cap and window.sum + held + asideIn(name) < cap
end
local moreTokens, moreNanos, grew = arg(33), arg(34), 0
if moreTokens + moreNanos > 0
  and (moreTokens == 0 or leavesRoom(dayName, dayCap, dayLedger, dayName == day and dayHeld or 0))
  and (moreNanos == 0 or leavesRoom(monthName, monthCap, monthLedger, monthName == month and monthHeld or 0)) then
  slice[6], slice[7], grew = slice[6] + moreTokens, slice[7] + moreNanos, 1
  slice[15], slice[16] = slice[15] + moreTokens, slice[16] + moreNanos
end
`

/**
 * Each account is by itself: the code and the time of the reply are those of a script on it alone. Then follow whether the
 * counter is wanted (1); five numbers that are idle now, and five that may be; whether the request grew (1); the wait and the
 * figures as of an admission; both windows; and pairs of window (1, 2) and number of the threshold. Code 2: the call came
 * after a later one.
 */
const ANSWERED = `
local crossed = {}
for i, window in ipairs({ dayLedger, monthLedger }) do
  local cap = i == 1 and dayCap or monthCap
  if cap >= 0 then
    for place = offset + 37, #ARGV do
      -- A later call returns an alert again until the replica has the reply.
      local by = reachedBy(window, cap, ARGV[place], id .. '#' .. ARGV[offset + 2])
      local first = by and string.match(by, '#(%d+)$')
      if first and by == id .. '#' .. first and tonumber(first) > heard then
        crossed[#crossed + 1] = i
        crossed[#crossed + 1] = place - offset - 37
      end
    end
  end
end
save()
writeWindows()
local reply = { 1, now, isWanted and 1 or 0 }
for i = 1, 5 do reply[3 + i] = slice[7 + i] end
for i = 1, 5 do reply[8 + i] = limits[i] end
reply[14] = grew
local figures = isPresent and { standing(0) } or { 0, 0, 0, 0, 0, 0, 0, 0 }
for i = 1, 8 do reply[14 + i] = figures[i] end
tell(reply, dayName)
tell(reply, monthName)
for i = 1, #crossed do reply[#reply + 1] = crossed[i] end
return reply
`

/** KEYS and ARGV: how many accounts, then for each how many KEYS and ARGV it has, and these. */
export const CLAIM: Script = {
  name: 'claim',
  lua: `${SHEBANG}
local function account(KEYS, ARGV)
${OPENING}${LEDGERS}${EXPIRY}${CLAIMED}${STANDING}${ALERTS}${SETTLED}${GRANTED}${ANSWERED}
end

local replies, key, at = { 1, 0 }, 1, 2
for i = 1, tonumber(ARGV[1]) do
  local keys, args = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
  replies[2 + i] = account({ unpack(KEYS, key, key + keys - 1) }, { unpack(ARGV, at + 2, at + 1 + args) })
  key, at = key + keys, at + 2 + args
end
replies[2] = replies[3][2]
return replies
`,
}
