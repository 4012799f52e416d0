/** Admission and the same look without a request: rate, slots and budgets in one step. */
import type { Script } from '../link.ts'
import { EXPIRY } from './expiry.ts'
import { BEGINNING, LEDGERS } from './state.ts'

/**
 * The present rules, and the tenant's figures under them. The caller says where the present windows end by its own
 * reckoning and what it wrote into them; budgets are looked at only where there are any.
 *
 * ARGV after `offset`: day's start and end, month's end, requests per minute, burst, concurrent requests, tokens per minute,
 * cap of the day, of the month (-1: none of them), and for each window its birth and the caller's total as last seen.
 */
export const ASKED = `
local function arg(i) return tonumber(ARGV[offset + i]) end
local dayEnd, monthEnd = arg(2), arg(3)
if now < arg(1) or now >= dayEnd then return { -1, now } end
local rpm, burst, slots, tpm, dayCap, monthCap = arg(4), arg(5), arg(6), arg(7), arg(8), arg(9)
local dayName, monthName = ARGV[4], ARGV[5]
local dayLedger, monthLedger
if dayCap >= 0 then
  dayLedger = ledger(dayName)
  if lost(dayLedger, arg(10), arg(11)) then return { -3, now } end
elseif arg(10) > 0 and tonumber(call('HGET', windows[dayName].key, 'born') or 0) ~= arg(10) then
  -- The buckets are lost, too.
  return { -3, now }
end
if monthCap >= 0 then
  monthLedger = ledger(monthName)
  if lost(monthLedger, arg(12), arg(13)) then return { -3, now } end
end
`

/** Brings buckets and windows to the present, and tells how the tenant stands. */
export const STANDING = `
-- The time since the last request leaks at the slower of both rates, and a smaller bucket is full, not overfull.
local function obey(level, at, rate, capacity, newRate, newCapacity)
  if rate == newRate and capacity == newCapacity and now >= at then return level, at end
  changed = true
  if rate == 0 then return 0, now end
  return min(levelAt(level, at, min(rate, newRate)), newCapacity * UNIT), now
end

-- What slices hold: slots in use and idle, idle requests and tokens of the rate, and in the present windows tokens and
-- nanos in use and idle.
local slotsUsed, slotsIdle, requestsIdle, ratedIdle, dayUsed, dayIdle, monthUsed, monthIdle = 0, 0, 0, 0, 0, 0, 0, 0
-- The sure part of those in use: a holder that has heard that the counter is wanted reports the end of each request at
-- once, others up to a quarter of a second later.
local slotsSure, daySure, monthSure = 0, 0, 0

local function lookAtSlices()
  local isWanted = now - wantedAt < WANTED and now >= wantedAt
  for _, slice in pairs(slices) do
    if isWanted and slice[1] - LEASE >= wantedAt then
      slotsSure = slotsSure + slice[5]
      if slice[3] == day then daySure = daySure + slice[6] end
      if slice[4] == month then monthSure = monthSure + slice[7] end
    end
    slotsUsed, slotsIdle = slotsUsed + slice[5], slotsIdle + slice[10]
    requestsIdle, ratedIdle = requestsIdle + slice[8], ratedIdle + slice[9]
    if slice[3] == day then dayUsed, dayIdle = dayUsed + slice[6], dayIdle + slice[11] end
    if slice[4] == month then monthUsed, monthIdle = monthUsed + slice[7], monthIdle + slice[12] end
  end
end

local function toPresentWindows()
  if rpm >= 0 then
    requestLevel, requestAt = obey(requestLevel, requestAt, requestRate, requestCapacity, rpm, burst)
    requestRate, requestCapacity = rpm, burst
  end
  if tpm >= 0 then
    tokenLevel, tokenAt = obey(tokenLevel, tokenAt, tokenRate, tokenCapacity, tpm, tpm)
    tokenRate, tokenCapacity = tpm, tpm
  end
  if day == dayName and month == monthName then return end
  changed = true
  day, month, dayHeld, monthHeld = dayName, monthName, 0, 0
  if running == 0 then return end
  local all = call('HVALS', LEASES)
  for i = 1, #all do
    local _, _, leaseDay, leaseMonth, tokens, nanos = decode(all[i])
    hold(leaseDay, tokens, leaseMonth, nanos)
  end
end

local function toPresent()
  toPresentWindows()
  lookAtSlices()
end

local function remaining(level, capacity) return max(0, floor((capacity * UNIT - level) / UNIT)) end

-- What is idle in slices remains, but not to a request that is refused.
local function standing(wait)
  local kept = wait > 0 and 1 or 0
  local left, reset, tokensLeft, tokensReset = -1, -1, -1, -1
  if rpm >= 0 then
    local level, aside = levelAt(requestLevel, requestAt, requestRate), requestsIdle * UNIT
    left = remaining(level + kept * aside, requestCapacity)
    reset = ceil((level + aside) / requestRate)
  end
  if tpm >= 0 then
    local tokens, tokensAside = levelAt(tokenLevel, tokenAt, tokenRate), ratedIdle * UNIT
    tokensLeft = remaining(tokens + kept * tokensAside, tokenCapacity)
    tokensReset = ceil((tokens + tokensAside) / tokenRate)
  end
  return wait, left, reset, tokensLeft, tokensReset, running + slotsUsed, dayHeld + dayUsed, monthHeld + monthUsed
end

local function written(reply)
  if changed then save() end
  writeWindows()
  if dayLedger then tell(reply, dayName) end
  if monthLedger then tell(reply, monthName) end
  return reply
end

local function figures(code, wait) return written({ code, now, standing(wait) }) end
`

const PRESENT = `${ASKED}${STANDING}
local missing = expire()
if missing then return missing end
toPresent()
`

/** Finds the limit that blocks a request, or admits it. */
export const JUDGEMENT = `
-- 1 tokens, 2 spend, 0 none, and how long the budget stays spent.
local function spentBudget()
  local daySpent = dayLedger and dayLedger.sum >= dayCap
  local monthSpent = monthLedger and monthLedger.sum >= monthCap
  local spent = 0
  if monthSpent then
    spent = (daySpent and dayEnd == monthEnd) and 1 or 2
  elseif daySpent then
    spent = 1
  end
  if spent == 0 then return 0, 0 end
  return spent, max(1, (spent == 1 and dayEnd or monthEnd) - now)
end

-- Not spent, but running requests and slices may spend it. Judgements count all that slices have, or only what holders
-- would not give back.
local function isPromised(isAll)
  local dayTaken = dayHeld + (isAll and dayUsed + dayIdle or daySure)
  local monthTaken = monthHeld + (isAll and monthUsed + monthIdle or monthSure)
  return (dayLedger and dayLedger.sum < dayCap and dayLedger.sum + dayTaken >= dayCap)
    or (monthLedger and monthLedger.sum < monthCap and monthLedger.sum + monthTaken >= monthCap)
end

local function waitFor(level, at, rate, capacity, cost, aside)
  local over = levelAt(level, at, rate) + (aside + min(cost, capacity) - capacity) * UNIT
  return over <= 0 and 0 or ceil(over / rate)
end

-- Rate, token rate and slots: the longest wait and its code. A request without tokens (-1) needs no slot.
local function limitInTheWay(tokens, isAll)
  local idle, slotsTaken = isAll and 1 or 0, running + (isAll and slotsUsed + slotsIdle or slotsSure)
  local forRequest = rpm >= 0 and waitFor(requestLevel, requestAt, requestRate, requestCapacity, 1, idle * requestsIdle) or 0
  local forTokens = tpm >= 0 and waitFor(tokenLevel, tokenAt, tokenRate, tokenCapacity, max(0, tokens), idle * ratedIdle) or 0
  local forSlot = tokens >= 0 and slots >= 0 and slotsTaken >= slots and 1000 or 0
  local wait = max(forRequest, forTokens, forSlot)
  return wait, wait == forRequest and 11 or wait == forTokens and 12 or 13
end

-- What slices would give back alone is in the way of a request: their holders hear of it.
local function want()
  if now - wantedAt < 5 and now >= wantedAt then return end
  wantedAt, changed = now, true
  redis.pcall('PUBLISH', string.match(STATE, '^(.*:v1:){') .. 'wanted', STATE)
end

local function hasSlices()
  return slotsUsed + slotsIdle + requestsIdle + ratedIdle + dayUsed + dayIdle + monthUsed + monthIdle > 0
end

-- What downgraded the admission that is known under the id, 0 if nothing did; nil where none is known.
local function knownAdmission(id)
  local known = call('HGET', LEASES, id)
  if not known then return nil end
  local _, _, _, _, _, _, _, _, _, by = decode(known)
  return by
end

local function pour(tokens)
  if rpm >= 0 then requestLevel, requestAt = poured(requestLevel, requestAt, requestRate, 1), now end
  if tpm >= 0 then tokenLevel, tokenAt = poured(tokenLevel, tokenAt, tokenRate, tokens), now end
  changed = true
end

-- Takes slot and hold, and pours into the buckets. False if the id is known.
local function take(id, tokens, nanos, by)
  local rated = tpm >= 0 and tokens or -1
  if not start(id, dayName, monthName, tokens, nanos, 0, 0, rated, by) then return false end
  -- The caller hears of windows with a cap before it settles in them.
  if dayLedger and dayLedger.born == 0 then dayLedger.changed = true end
  if monthLedger and monthLedger.born == 0 then monthLedger.changed = true end
  pour(tokens)
  return true
end
`

/** Reply: code 1, the time, 0, and the figures. */
export const READ: Script = {
  name: 'read',
  lua: `${BEGINNING}${LEDGERS}${EXPIRY}${PRESENT}return figures(1, 0)\n`,
}

/**
 * More ARGV for each request: id, estimate in tokens (-1: it is charged to the rates alone, without slot, hold and lease) and
 * nanos, the same on the downgrade route (-1: none). Each is decided as if
 * it had come after the one before. The reply has nine more numbers for each but the first: the code, the wait and the figures.
 * Codes: 1 admitted, 2 and 3 downgraded by tokens or spend, from 11 on refused: rpm, tpm, concurrency, budget_reserved,
 * budget_tokens, budget_spend; 20 more if only slices are in the way.
 */
export const ADMIT: Script = {
  name: 'admit',
  lua: `${BEGINNING}${LEDGERS}${EXPIRY}${PRESENT}${JUDGEMENT}
local function chargeRates()
  local wait, code = limitInTheWay(-1, true)
  if wait == 0 then
    pour(0)
    return 1, 0
  end
  if hasSlices() and limitInTheWay(-1, false) == 0 then
    want()
    code = code + 20
  end
  return code, wait
end

local function decide(id, tokens, nanos, cheaperTokens, cheaperNanos)
  if tokens < 0 then return chargeRates() end
  local spent, forBudget = spentBudget()
  local by, budgetCode = 0, 14 + spent
  if spent > 0 and cheaperTokens >= 0 then
    by, spent, forBudget, tokens, nanos = spent, 0, 0, cheaperTokens, cheaperNanos
  end
  local function judge(isAll)
    local forAll, allCode = forBudget, budgetCode
    if spent == 0 and isPromised(isAll) then forAll, allCode = 1000, 14 end
    local wait, code = limitInTheWay(tokens, isAll)
    if forAll > wait then return forAll, allCode end
    return wait, code
  end
  local wait, code = judge(true)
  if wait == 0 and take(id, tokens, nanos, by) then return 1 + by, 0 end
  -- The same admission once more is the first one.
  local first = knownAdmission(id)
  if first then return 1 + first, 0 end
  if hasSlices() and judge(false) == 0 then
    want()
    code = code + 20
  end
  return code, wait
end

local reply, others = nil, {}
for at = 14, #ARGV - offset, 5 do
  local code, wait = decide(ARGV[offset + at], arg(at + 1), arg(at + 2), arg(at + 3), arg(at + 4))
  if not reply then
    reply = { code, now, standing(wait) }
  else
    others[#others + 1] = { code, standing(wait) }
  end
end
written(reply)
for _, other in ipairs(others) do
  for _, number in ipairs(other) do reply[#reply + 1] = number end
end
return reply
`,
}
