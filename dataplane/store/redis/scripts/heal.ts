/** What a replica tells windows that know less than it does: after a flush, or a failover to an older copy. */
import type { Script } from '../link.ts'
import { BEGINNING, LEDGERS } from './state.ts'

/** A field that was written an hour ago may be folded. */
const REFRESHED_AFTER_MS = 20 * 60_000

/**
 * Windows: any. Own ARGV from `o`, five for each: the caller's total, the window's birth and the caller's total as last
 * seen, the last known sum with what the caller settled since, the last known base.
 *
 * Each of what is compared is at most the truth: the sum a caller knows, and the totals of all with the last known base.
 * So the largest is the best that can be known, and it is the truth once every living replica has told its own.
 * Reply: 1, the time, and each window as the caller remembers it.
 */
export const HEAL: Script = {
  name: 'heal',
  lua: `${BEGINNING}${LEDGERS}
local function arg(i) return tonumber(ARGV[i]) end
local reply = { 1, now }
for i = 1, o - 4 do
  local name, at = ARGV[4 + i], o + 5 * i - 4
  local w = ledger(name)
  local whole, born, mine, known, base = arg(at), arg(at + 1), arg(at + 2), arg(at + 3), arg(at + 4)
  if lost(w, born, mine) then
    w.changed, w.mineChanged = true, true
    w.mine = max(w.mine, whole)
    w.base = max(w.base, base)
    local sum, all = w.base + w.mine, call('HGETALL', w.key)
    for j = 1, #all, 2 do
      if string.sub(all[j], 1, 2) == 'r:' and all[j] ~= MINE then
        local others = unpack_(all[j + 1])
        sum = sum + others
      end
    end
    w.sum = min(SAFE, max(w.sum, known, sum))
  else
    total(w, whole, mine)
    -- Who lives is not folded, however long it settles nothing.
    if w.mine >= 0 and now - w.at > ${REFRESHED_AFTER_MS} then w.changed, w.mineChanged = true, true end
  end
end
writeWindows()
for i = 5, o do tell(reply, ARGV[i]) end
return reply
`,
}
