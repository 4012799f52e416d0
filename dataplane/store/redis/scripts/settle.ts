/** Settles requests: ends their leases, and adds the replica's absolute totals to the windows. */
import type { Script } from '../link.ts'
import { EXPIRY } from './expiry.ts'
import { BEGINNING, LEDGERS } from './state.ts'

/**
 * Ways to end a lease: end it; end it and leave a grave, so that nothing revives it; take back an admission that got no
 * answer.
 */
export const SETTLE_ONLY = 0
export const SETTLE_AND_BURY = 1
export const TAKE_BACK = 2

/**
 * Added to one of the first two for a settlement that another call brings along, because its own has no answer. Its alerts wait
 * for its own.
 */
export const BESIDE = 3

/**
 * ARGV after the settlements: for each window whether it counts anything (0: no), the caller's total, the window's birth and
 * the caller's total as last seen, the cap (-1: none); then the thresholds. `rest` is how many arguments stand before these;
 * settlement `i` begins after argument `first + 3 * (i - 1)`.
 *
 * An alert belongs to the request that was the first to reach it, however often that settles: its answer may get lost. Of
 * settlements that reach it together it is the first.
 */
const ENDING = `
local names = { ARGV[4], ARGV[5] }
for i = 1, 2 do
  local at = rest + 5 * i - 4
  if lost(ledger(names[i]), arg(at + 2), arg(at + 3)) then return { -3, now } end
end
local missing = expire()
if missing then return missing end

local ids, ours, ended = {}, {}, {}
for i = 1, count do
  ids[i] = ARGV[offset + first + 3 * i - 2]
  ours[ids[i]] = arg(first + 3 * i) < ${BESIDE}
end
local leases = call('HMGET', LEASES, unpack(ids))
local found = 0
for i = 1, count do
  local id, used, mode = ids[i], arg(first + 3 * i - 1), arg(first + 3 * i) % ${BESIDE}
  local known = leases[i]
  local buried = not known and call('HGET', GRAVES, id)
  if known then
    found = 1
    ended[#ended + 1] = id
    local expiresAt, _, dayName, monthName, tokens, nanos, _, _, rated = decode(known)
    hold(dayName, -tokens, monthName, -nanos)
    stop()
    correctTokens(rated, used)
    if mode == ${TAKE_BACK} and requestRate > 0 then
      -- What may have leaked since then would be given back twice.
      local kept = max(0, UNIT - (now - (expiresAt - LEASE)) * requestRate)
      requestLevel = max(0, levelAt(requestLevel, requestAt, requestRate) - kept)
      requestAt = now
    end
    changed = true
  elseif buried and #buried > 1 then
    found = 2
    call('HDEL', GRAVES, id)
    local tokens, nanos, rated = decode(buried)
    addExpired(ledger(names[1]), -tokens)
    addExpired(ledger(names[2]), -nanos)
    correctTokens(rated, used)
    changed = true
  end
  if mode == ${SETTLE_AND_BURY} then
    call('HSET', GRAVES, id, '-')
    call('PEXPIRE', GRAVES, '86400000')
  end
end
if #ended > 0 then call('HDEL', LEASES, unpack(ended)) end

local crossed = {}
for i = 1, 2 do
  local window, at = ledger(names[i]), rest + 5 * i - 4
  if arg(at) == 1 then total(window, arg(at + 1), arg(at + 3)) end
  local cap, from = arg(at + 4), offset + rest + 11
  if cap >= 0 then
    for place = from, #ARGV do
      local by = reachedBy(window, cap, ARGV[place], ids[1])
      if by and ours[by] then
        crossed[#crossed + 1] = i
        crossed[#crossed + 1] = place - from
      end
    end
  end
end
if changed then save() end
writeWindows()
local reply = { 1, now, found }
tell(reply, names[1])
tell(reply, names[2])
for i = 1, #crossed do reply[#reply + 1] = crossed[i] end
return reply
`

/** Which request or call was the first to reach a threshold of a window: the given one, unless another was. */
export const ALERTS = `
local function reachedBy(window, cap, threshold, id)
  if window.sum / cap < tonumber(threshold) then return nil end
  local by = string.match(window.alerted, ' ' .. string.gsub(threshold, '%p', '%%%0') .. '=(%S+)')
  if by then return by end
  window.alerted = window.alerted .. threshold .. '=' .. id .. ' '
  window.changed, window.alertedChanged = true, true
  return id
end
`

const ARGUMENT = 'local function arg(i) return tonumber(ARGV[offset + i]) end\n'

/**
 * Windows: the day and the month of the hold. ARGV after `offset`: id; tokens used; what to do (one of the above).
 *
 * Reply: 1, the time, what was found (0 nothing, 1 the lease, 2 its grave), each window as the caller remembers it, then
 * pairs of window (1, 2) and number of the threshold.
 */
export const SETTLE: Script = {
  name: 'settle',
  lua: `${BEGINNING}${LEDGERS}${EXPIRY}${ALERTS}${ARGUMENT}local count, first, rest = 1, 0, 3\n${ENDING}`,
}

/** The same of several requests of one account: their number, then those three of each. One write for all of them. */
export const SETTLE_ALL: Script = {
  name: 'settle_all',
  lua: `${BEGINNING}${LEDGERS}${EXPIRY}${ALERTS}${ARGUMENT}local count = arg(1)\nlocal first, rest = 1, 1 + 3 * count\n${ENDING}`,
}
