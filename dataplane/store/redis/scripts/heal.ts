/** A replica restores windows that know less than it does: after a flush, or a failover to an older copy. */
import type { Script } from '../link.ts'
import { BEGINNING, LEDGERS } from './state.ts'

/** A field that was written an hour ago may be folded; this is well before. */
const REFRESHED_AFTER_MS = 20 * 60_000

/**
 * Windows: any. ARGV after `offset`, six for each: the caller's total, the window's birth and the caller's total as last
 * seen, the last known sum with what the caller settled since, the last known base, and for a window that lost nothing the
 * caller's total without ends that have no answer. Sum and base are without the charges of expired leases: the graves by
 * which a late settlement takes them back are lost as well, so they would count twice. Then the caller's slice, the present
 * day and month, and rate, capacity and units of the caller in the bucket of requests, rate and units in that of tokens;
 * of its slice the number of claims, requests and tokens that it used so far, and whether it is over (1).
 *
 * Each of what is compared is at most the truth: the sum a caller knows, and the totals of all with the last known base.
 * So the largest is the best that can be known, and it is the truth once every living replica has written its own.
 * Reply: 1, the time, and each window as the caller remembers it.
 */
export const HEAL: Script = {
  name: 'heal',
  lua: `${BEGINNING}${LEDGERS}
local function arg(i) return tonumber(ARGV[i]) end
local reply = { 1, now }
local last = offset + 6 * (offset - 3)

-- Each replica pours once: then its slice is known again, with the poured part of it, and a claim from before is an earlier one.
local function pourAgain()
  if saved and not slices.new then return end
  local id, dayName, monthName = ARGV[last + 1], ARGV[last + 2], ARGV[last + 3]
  local rate, capacity, units = arg(last + 4), arg(last + 5), arg(last + 6)
  local newTokenRate, tokenUnits = arg(last + 7), arg(last + 8)
  markLost(dayName, monthName)
  if slices[id] then return end
  slices[id] = emptySlice(arg(last + 9), dayName, monthName, arg(last + 10), arg(last + 11))
  if rate > 0 then
    if requestRate == 0 then requestRate, requestCapacity = rate, capacity end
    requestLevel, requestAt = min(SAFE, levelAt(requestLevel, requestAt, requestRate) + units), now
  end
  if newTokenRate > 0 then
    if tokenRate == 0 then tokenRate, tokenCapacity = newTokenRate, newTokenRate end
    tokenLevel, tokenAt = min(SAFE, levelAt(tokenLevel, tokenAt, tokenRate) + tokenUnits), now
  end
end

for i = 1, offset - 3 do
  local name, at = ARGV[3 + i], offset + 6 * i - 5
  local window = ledger(name)
  local whole, born, mine, known, base, confirmed = arg(at), arg(at + 1), arg(at + 2), arg(at + 3), arg(at + 4), arg(at + 5)
  if born == 0 then
    -- The caller adds nothing to a window before it knows which life of it this is.
    window.changed = window.changed or window.born == 0
  elseif lost(window, born, mine) then
    if window.born ~= born then pourAgain() end
    window.changed, window.mineChanged = true, true
    local lostAt = isFromBefore(window) and window.lostAt or now
    window.mine = max(window.mine, whole)
    window.base = max(window.base - window.expired, base) + window.expired
    local sum, all = window.base + window.mine, call('HGETALL', window.key)
    for j = 1, #all, 2 do
      if string.sub(all[j], 1, 2) == 'r:' and all[j] ~= REPLICA then
        local others = decode(all[j + 1])
        sum = sum + others
      end
    end
    window.sum = min(SAFE, max(window.sum, known + window.expired, sum))
    loosen(window, window.sum - sum, lostAt)
  else
    total(window, confirmed, mine)
    -- A living replica is not folded, however long it settles nothing.
    if window.mine >= 0 and now - window.writtenAt > ${REFRESHED_AFTER_MS} then
      window.changed, window.mineChanged = true, true
    end
  end
end

-- An older copy has set aside what the caller gave back since: it would be charged when it expires.
local own = slices[ARGV[last + 1]]
if own and arg(last + 12) == 1 and own[2] <= arg(last + 9) then
  for _, i in ipairs({ 5, 6, 7, 8, 9, 10, 11, 12, 15, 16 }) do
    if own[i] > 0 then own[i], changed = 0, true end
  end
end
if changed then save() end
writeWindows()
for i = 4, offset do tell(reply, ARGV[i]) end
return reply
`,
}
