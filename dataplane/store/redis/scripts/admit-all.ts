/** Admission over several accounts in one step: the tenant's own, and those of groups, the key and limits. */
import type { Script } from '../link.ts'
import { ASKED, JUDGEMENT, STANDING } from './admit.ts'
import { EXPIRY } from './expiry.ts'
import { LEDGERS, OPENING, SHEBANG } from './state.ts'

/**
 * ARGV: id, estimate in tokens and nanos, the same on the downgrade route (-1: none), how many accounts; then for each how
 * many KEYS and ARGV it has, whether its budget downgrades (1), the tokens that it counts of the estimate and of that on the
 * downgrade route, and the ARGV that it would have alone. The first account is
 * the tenant's.
 *
 * No account is changed before all of them have been read. Where one cannot be judged, the reply is its code (below zero),
 * the time and its number, then the windows it misses. Else the reply is the code, the time, the wait, the number of the
 * account that decided, and for each account its figures as of an admission to it alone.
 */
export const ADMIT_ALL: Script = {
  name: 'admit_all',
  lua: `${SHEBANG}
local function account(KEYS, ARGV)
${OPENING}${LEDGERS}${EXPIRY}${ASKED}${STANDING}${JUDGEMENT}
  local missing = findDue()
  if missing then return missing end
  local function begin()
    expireDue()
    toPresent()
  end
  return nil, {
    begin = begin, spentBudget = spentBudget, isPromised = isPromised, limitInTheWay = limitInTheWay,
    knownAdmission = knownAdmission, take = take, figures = figures, now = now, want = want, hasSlices = hasSlices,
  }
end

local id, nanos = ARGV[1], tonumber(ARGV[3])
local cheaperTokens, cheaperNanos, count = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local accounts, downgrades, counted, cheaper, key, at = {}, {}, {}, {}, 1, 7
for i = 1, count do
  local keys, args = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
  downgrades[i] = ARGV[at + 2] == '1' and cheaperTokens >= 0
  counted[i], cheaper[i] = tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
  at = at + 5
  local refusal, opened =
    account({ unpack(KEYS, key, key + keys - 1) }, { unpack(ARGV, at, at + args - 1) })
  if refusal then
    table.insert(refusal, 3, i)
    return refusal
  end
  accounts[i], key, at = opened, key + keys, at + args
end
for i = 1, count do accounts[i].begin() end

local function reply(code, wait, which)
  local all = { code, accounts[1].now, wait, which }
  for i = 1, count do all[4 + i] = accounts[i].figures(code, wait) end
  return all
end

-- The budget that decides: of those that refuse the one with the longest wait, else the first that downgrades.
local by, which, forBudget, budgetCode, refusing = 0, 1, 0, 14, 1
for i = 1, count do
  local spent, wait = accounts[i].spentBudget()
  if spent > 0 and downgrades[i] then
    if by == 0 then by, which = spent, i end
  elseif spent > 0 and wait > forBudget then
    forBudget, budgetCode, refusing = wait, 14 + spent, i
  end
end
local isSpent = forBudget > 0
if isSpent then by = 0 elseif by > 0 then counted, nanos = cheaper, cheaperNanos end

-- The longest wait, its code and its account.
local function judge(isAll)
  local forAll, account = forBudget, refusing
  for i = count, 1, -1 do
    if not isSpent and accounts[i].isPromised(isAll) then forAll, account = 1000, i end
  end
  local wait, code, limited = 0, 0, 1
  for i = 1, count do
    local forLimit, limitCode = accounts[i].limitInTheWay(counted[i], isAll)
    if forLimit > wait then wait, code, limited = forLimit, limitCode, i end
  end
  if forAll > wait then return forAll, budgetCode, account end
  return wait, code, limited
end

-- The same admission once more is the first one.
local known = accounts[1].knownAdmission(id)
if known then return reply(1 + known, 0, which) end
local wait, code, account = judge(true)
if wait > 0 then
  if judge(false) == 0 then
    for i = 1, count do
      if accounts[i].hasSlices() then accounts[i].want() end
    end
    code = code + 20
  end
  return reply(code, wait, account)
end
for i = 1, count do accounts[i].take(id, counted[i], nanos, by) end
return reply(1 + by, 0, which)
`,
}
