/** Admission and the same look without a request: rate, slots and budgets in one step. */
import type { Script } from '../link.ts'
import { BEGINNING, EXPIRY, LEDGERS } from './state.ts'

/**
 * The rules that hold now, and how the tenant stands under them. The caller says where the present windows end by its own
 * reckoning and what it wrote into them; budgets are looked at only where there are any.
 *
 * Own ARGV from `o`: day's start and end, month's end, requests per minute, burst, concurrent requests, tokens per minute
 * (-1: none), cap of the day, of the month (-1: none), and for each window its birth and the caller's total as last seen.
 */
const PRESENT = `
local function arg(i) return tonumber(ARGV[o + i]) end
local dayEnd, monthEnd = arg(2), arg(3)
if now < arg(1) or now >= dayEnd then return { -1, now } end
local rpm, burst, slots, tpm, dayCap, monthCap = arg(4), arg(5), arg(6), arg(7), arg(8), arg(9)
local dayName, monthName = ARGV[5], ARGV[6]
local d, m
if dayCap >= 0 then
  d = ledger(dayName)
  if lost(d, arg(10), arg(11)) then return { -3, now } end
end
if monthCap >= 0 then
  m = ledger(monthName)
  if lost(m, arg(12), arg(13)) then return { -3, now } end
end
local missing = expire()
if missing then return missing end

-- The time since the last request leaks at the slower of both rates, and a smaller bucket is full, not overfull.
local function obey(level, at, rate, capacity, newRate, newCapacity)
  if rate == newRate and capacity == newCapacity and now >= at then return level, at end
  changed = true
  if rate == 0 then return 0, now end
  return min(levelAt(level, at, min(rate, newRate)), newCapacity * UNIT), now
end
ql, qa = obey(ql, qa, qp, qc, rpm, burst)
qp, qc = rpm, burst
if tpm >= 0 then
  tl, ta = obey(tl, ta, tp, tc, tpm, tpm)
  tp, tc = tpm, tpm
end

if day ~= dayName or month ~= monthName then
  changed = true
  day, month, dayHeld, monthHeld = dayName, monthName, 0, 0
  if running > 0 then
    local all = call('HVALS', LEASES)
    for i = 1, #all do
      local _, _, leaseDay, leaseMonth, tokens, nanos = unpack_(all[i])
      hold(leaseDay, tokens, leaseMonth, nanos)
    end
  end
end

local function remaining(level, capacity) return max(0, floor((capacity * UNIT - level) / UNIT)) end

local function figures(code, wait)
  if changed then save() end
  writeWindows()
  local level = levelAt(ql, qa, qp)
  local reply = { code, now, wait, remaining(level, qc), ceil(level / qp), -1, -1, running, dayHeld, monthHeld }
  if tpm >= 0 then
    level = levelAt(tl, ta, tp)
    reply[6], reply[7] = remaining(level, tc), ceil(level / tp)
  end
  if d then tell(reply, dayName) end
  if m then tell(reply, monthName) end
  return reply
end
`

/** Reply: code 1, the time, 0, and the figures. */
export const READ: Script = {
  name: 'read',
  lua: `${BEGINNING}${LEDGERS}${EXPIRY}${PRESENT}return figures(1, 0)\n`,
}

/**
 * Own ARGV after those of the present: id, estimate in tokens and nanos, the same on the downgrade route (-1: none).
 * Codes: 1 admitted, 2 and 3 downgraded by tokens or spend, from 11 on refused: rpm, tpm, concurrency, budget_reserved,
 * budget_tokens, budget_spend.
 */
export const ADMIT: Script = {
  name: 'admit',
  lua: `${BEGINNING}${LEDGERS}${EXPIRY}${PRESENT}
local id, tokens, nanos, cheaperTokens, cheaperNanos = ARGV[o + 14], arg(15), arg(16), arg(17), arg(18)
-- The same admission once more is the first one.
local function again()
  local known = call('HGET', LEASES, id)
  if not known then return nil end
  local _, _, _, _, _, _, _, _, _, by = unpack_(known)
  return figures(1 + by, 0)
end

local daySpent = d and d.sum >= dayCap
local monthSpent = m and m.sum >= monthCap
local spent = 0
if monthSpent then
  spent = (daySpent and dayEnd == monthEnd) and 1 or 2
elseif daySpent then
  spent = 1
end
local by = 0
if spent > 0 and cheaperTokens >= 0 then
  by, spent, tokens, nanos = spent, 0, cheaperTokens, cheaperNanos
end

local function waitFor(level, at, rate, capacity, cost)
  local over = levelAt(level, at, rate) + min(cost * UNIT, capacity * UNIT) - capacity * UNIT
  return over <= 0 and 0 or ceil(over / rate)
end
local forRequest = waitFor(ql, qa, qp, qc, 1)
local forTokens = tpm >= 0 and waitFor(tl, ta, tp, tc, tokens) or 0
local forSlot = running >= slots and 1000 or 0
local wait = max(forRequest, forTokens, forSlot)
local code = wait == forRequest and 11 or wait == forTokens and 12 or 13
local forBudget, budgetCode = 0, 14
if spent > 0 then
  forBudget, budgetCode = max(1, (spent == 1 and dayEnd or monthEnd) - now), 14 + spent
elseif (d and not daySpent and d.sum + dayHeld >= dayCap) or (m and not monthSpent and m.sum + monthHeld >= monthCap) then
  forBudget = 1000
end
if forBudget > wait then wait, code = forBudget, budgetCode end
if wait > 0 then return again() or figures(code, wait) end

local rated = tpm >= 0 and tokens or -1
if not start(id, dayName, monthName, tokens, nanos, 0, 0, rated, by) then return again() end
ql, qa = poured(ql, qa, qp, 1), now
if tpm >= 0 then tl, ta = poured(tl, ta, tp, tokens), now end
return figures(1 + by, 0)
`,
}
