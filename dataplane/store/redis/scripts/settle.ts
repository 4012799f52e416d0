/** The end of a request: its lease ends, and its windows learn the replica's absolute totals. */
import type { Script } from '../link.ts'
import { BEGINNING, EXPIRY, LEDGERS } from './state.ts'

/**
 * Windows: the day and the month of the hold. Own ARGV from `o`: id; tokens used; what to do (0 settle, 1 settle and leave a
 * grave so that nothing revives it, 2 take back an admission that nobody got); then for each window whether it counts
 * anything (0: no), the caller's total, the window's birth and the caller's total as last seen, the cap (-1: none); then
 * the thresholds.
 *
 * An alert is told to the request that was the first to reach it, however often that settles: its answer may get lost.
 * Reply: 1, the time, what was found (0 nothing, 1 the lease, 2 its grave), each window as the caller remembers it, then
 * pairs of window (1, 2) and number of the threshold.
 */
export const SETTLE: Script = {
  name: 'settle',
  lua: `${BEGINNING}${LEDGERS}${EXPIRY}
local function arg(i) return tonumber(ARGV[o + i]) end
local names = { ARGV[5], ARGV[6] }
for i = 1, 2 do
  local at = 5 * i - 1
  if lost(ledger(names[i]), arg(at + 2), arg(at + 3)) then return { -3, now } end
end
local missing = expire()
if missing then return missing end

local id, used, mode = ARGV[o + 1], arg(2), arg(3)
local found = 0
local running_ = call('HGET', LEASES, id)
local buried = not running_ and call('HGET', GRAVES, id)
if running_ then
  found = 1
  call('HDEL', LEASES, id)
  local ends, _, d, m, tokens, nanos, _, _, rated = unpack_(running_)
  hold(d, -tokens, m, -nanos)
  stop()
  correctTokens(rated, used)
  if mode == 2 and qp > 0 then
    -- What may have leaked since then would be given back twice.
    local kept = max(0, UNIT - (now - (ends - LEASE)) * qp)
    ql, qa = max(0, levelAt(ql, qa, qp) - kept), now
  end
  changed = true
elseif buried and #buried > 1 then
  found = 2
  call('HDEL', GRAVES, id)
  local tokens, nanos, rated = unpack_(buried)
  if tokens > 0 then add(ledger(names[1]), -tokens, true) end
  if nanos > 0 then add(ledger(names[2]), -nanos, true) end
  correctTokens(rated, used)
  changed = true
end
if mode == 1 then
  call('HSET', GRAVES, id, '-')
  call('PEXPIRE', GRAVES, '86400000')
end

local crossed = {}
for i = 1, 2 do
  local w, at = ledger(names[i]), 5 * i - 1
  if arg(at) == 1 then total(w, arg(at + 1), arg(at + 3)) end
  local cap = arg(at + 4)
  if cap >= 0 then
    for t = o + 14, #ARGV do
      if w.sum / cap >= tonumber(ARGV[t]) then
        local by = string.match(w.told, ' ' .. string.gsub(ARGV[t], '%p', '%%%0') .. '=(%S+)')
        if not by then
          by = id
          w.told = w.told .. ARGV[t] .. '=' .. id .. ' '
          w.changed, w.toldChanged = true, true
        end
        if by == id then
          crossed[#crossed + 1] = i
          crossed[#crossed + 1] = t - o - 14
        end
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
`,
}
