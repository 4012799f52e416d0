/** The end of leases and slices that were not renewed, as a part of scripts. */

/**
 * Ends leases that were not renewed, charges what they reported last, and leaves a grave that a late settlement finds. Looks
 * at all leases only when the oldest that was there at the last look is due, and when the clock went back.
 */
export const EXPIRY = `
local function bury(id, ...)
  if call('HLEN', GRAVES) >= 10000 then call('HDEL', GRAVES, call('HRANDFIELD', GRAVES)) end
  call('HSET', GRAVES, id, encode(...))
  call('PEXPIRE', GRAVES, '86400000')
end

-- No grave is left, so nothing takes back any more what expired leases were charged.
local function keepExpired(window)
  if window.expired == 0 then return end
  window.expired, window.expiredChanged, window.changed = 0, true, true
end

local function expireLease(lease)
  call('HDEL', LEASES, lease.id)
  hold(lease.day, -lease.tokens, lease.month, -lease.nanos)
  stop()
  addExpired(ledger(lease.day), lease.usedTokens)
  addExpired(ledger(lease.month), lease.usedNanos)
  correctTokens(lease.rated, lease.usedTokens)
  bury(lease.id, lease.usedTokens, lease.usedNanos, lease.rated >= 0 and lease.usedTokens or lease.rated)
end

-- The replica of the slice may have spent what was idle and ended before it could report that. Its requests are charged with
-- their last beat; without one, with what they held.
local function expireSlice(id, slice)
  slices[id] = nil
  local tokens, nanos = slice[15] + slice[11], slice[16] + slice[12]
  requestLevel, requestAt = poured(requestLevel, requestAt, requestRate, slice[8]), now
  tokenLevel, tokenAt = poured(tokenLevel, tokenAt, tokenRate, slice[9]), now
  if tokens == 0 and nanos == 0 then return end
  addExpired(ledger(slice[3]), tokens)
  addExpired(ledger(slice[4]), nanos)
  bury(id, tokens, nanos, -1)
end

local due, clamped, nextExpiry
local dueSlices = {}

-- Returns a reply if windows are missing; changes nothing.
local function findDue()
  local missing, seen = { -2, now }, {}
  local function need(dayName, monthName)
    for _, name in ipairs({ dayName, monthName }) do
      if not windows[name] and not seen[name] then
        seen[name] = true
        missing[#missing + 1] = name
      end
    end
  end
  for id, slice in pairs(slices) do
    if slice[1] > now + LEASE then slice[1] = now + LEASE end
    if slice[1] <= now then
      dueSlices[#dueSlices + 1] = id
      need(slice[3], slice[4])
    end
  end
  local isDue = running > 0 and (now >= expiry or expiry > now + LEASE)
  local all = isDue and call('HGETALL', LEASES) or {}
  if isDue then due, clamped, nextExpiry = {}, {}, math.huge end
  for i = 1, #all, 2 do
    local expiresAt, leaseTurn, dayName, monthName, tokens, nanos, usedTokens, usedNanos, rated, by = decode(all[i + 1])
    if expiresAt <= now then
      due[#due + 1] = {
        id = all[i], turn = leaseTurn, day = dayName, month = monthName, tokens = tokens, nanos = nanos,
        usedTokens = usedTokens, usedNanos = usedNanos, rated = rated,
      }
      need(dayName, monthName)
    else
      if expiresAt > now + LEASE then
        expiresAt = now + LEASE
        clamped[#clamped + 1] = all[i]
        clamped[#clamped + 1] =
          encode(expiresAt, leaseTurn, dayName, monthName, tokens, nanos, usedTokens, usedNanos, rated, by)
      end
      nextExpiry = min(nextExpiry, expiresAt)
    end
  end
  if #missing > 2 then return missing end
  for _, lease in ipairs(due or {}) do ledger(lease.day) ledger(lease.month) end
  for _, id in ipairs(dueSlices) do ledger(slices[id][3]) ledger(slices[id][4]) end
end

local function expireDue()
  if #dueSlices > 0 then
    changed = true
    table.sort(dueSlices)
    if call('HLEN', GRAVES) == 0 then
      for _, id in ipairs(dueSlices) do keepExpired(ledger(slices[id][3])) keepExpired(ledger(slices[id][4])) end
    end
    for _, id in ipairs(dueSlices) do expireSlice(id, slices[id]) end
  end
  if not due then return end
  table.sort(due, function(one, other) return one.turn < other.turn end)
  changed = true
  expiry = nextExpiry == math.huge and 0 or nextExpiry
  for i = 1, #clamped, 2 do call('HSET', LEASES, clamped[i], clamped[i + 1]) end
  if call('HLEN', GRAVES) == 0 then
    for _, lease in ipairs(due) do keepExpired(ledger(lease.day)) keepExpired(ledger(lease.month)) end
  end
  for _, lease in ipairs(due) do expireLease(lease) end
end

-- Returns a reply if windows are missing.
local function expire()
  local missing = findDue()
  if missing then return missing end
  expireDue()
end
`
