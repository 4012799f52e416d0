/** The values of the store, in tables of the virtual machine: texts and hashes by key, when they expire, what changed. */

/** Keys that expire in the same minute are looked at together. */
const SWEPT_MS = 60_000

/** Keys and minutes of one sweep: about a millisecond. */
const SWEPT_MAX = 1_000

/**
 * An entry has `text`, or `fields` and `count`; `dies` is the last millisecond in which it is there.
 *
 * A part of a value that changed is named `s` (the text), `x` (when it expires) or `f` and the field; the empty name says
 * that all parts of before are gone.
 */
export const VALUES = `
local entries, changed, isKept, now = {}, {}, false, 0
local WRONG_TYPE = 'WRONGTYPE Operation against a key holding the wrong kind of value'

local function mark(key, part)
  if not isKept then return end
  local parts = changed[key]
  if not parts then
    parts = {}
    changed[key] = parts
  end
  parts[part] = true
end

local function markField(key, field)
  if isKept then mark(key, 'f' .. field) end
end

local function remove(key)
  entries[key] = nil
  if isKept then changed[key] = { [''] = true } end
end

-- The entry of a key, or nil.
local function find(key)
  local entry = entries[key]
  if entry and entry.dies and entry.dies < now then
    remove(key)
    return nil
  end
  return entry
end

local function textOf(key)
  local entry = find(key)
  if not entry then return false end
  if not entry.text then error({ err = WRONG_TYPE }, 0) end
  return entry.text
end

-- The hash of a key; nil if there is no value, unless it is made.
local function hashOf(key, isMade)
  local entry = find(key)
  if entry then
    if entry.text then error({ err = WRONG_TYPE }, 0) end
    return entry
  end
  if not isMade then return nil end
  entry = { fields = {}, count = 0 }
  entries[key] = entry
  return entry
end

local function setField(hash, key, field, value)
  local isNew = hash.fields[field] == nil
  if isNew then hash.count = hash.count + 1 end
  hash.fields[field] = value
  markField(key, field)
  return isNew
end

-- The keys that expire in a minute. A key whose end moves stays in the list of an earlier minute until that comes.
local minutes, sweptTo, list, listed = {}, nil, nil, 0
local function minuteOf(ms) return ms // ${SWEPT_MS} end

local function expireAt(key, entry, ms)
  entry.dies = ms
  mark(key, 'x')
  if not ms then return end
  sweptTo = sweptTo or minuteOf(now)
  local minute = math.max(minuteOf(ms) + 1, sweptTo)
  if entry.minute and entry.minute <= minute then return end
  entry.minute = minute
  local keys = minutes[minute]
  if keys then keys[#keys + 1] = key else minutes[minute] = { key } end
end

local function setText(key, text, dies)
  local entry = find(key)
  if not entry or entry.fields then
    if entry then remove(key) end
    entry = {}
    entries[key] = entry
  end
  entry.text = text
  mark(key, 's')
  if dies or entry.dies then expireAt(key, entry, dies) end
end

-- Removes what has expired, a bounded number of keys at a time.
local function sweep()
  sweptTo = sweptTo or minuteOf(now)
  for _ = 1, ${SWEPT_MAX} do
    if list and listed > 0 then
      local key = list[listed]
      listed = listed - 1
      local entry = find(key)
      if entry and entry.minute and entry.minute < sweptTo then
        entry.minute = nil
        if entry.dies then expireAt(key, entry, entry.dies) end
      end
    elseif sweptTo > minuteOf(now) then
      list = nil
      return
    else
      list, minutes[sweptTo], sweptTo = minutes[sweptTo], nil, sweptTo + 1
      listed = list and #list or 0
    end
  end
end

local function valueOf(entry, part)
  if not entry then return nil end
  if part == 's' then return entry.text end
  if part == 'x' then return entry.dies and string.format('%.0f', entry.dies) end
  return entry.fields and entry.fields[string.sub(part, 2)]
end

-- All changes since the last time: key, part, and the value where there is one.
local function drain()
  local out = {}
  local function write(key, part, value)
    out[#out + 1] = string.pack(value and '<s4s4Bs4' or '<s4s4B', key, part, value and 1 or 0, value)
  end
  for key, parts in next, changed do
    if parts[''] then write(key, '') end
    for part in next, parts do
      if part ~= '' then write(key, part, valueOf(entries[key], part)) end
    end
  end
  changed = {}
  return table.concat(out)
end

-- Takes parts of values that were kept: key, part and value in turn.
local function restore(...)
  local all = { ... }
  for i = 1, #all, 3 do
    local key, part, value = all[i], all[i + 1], all[i + 2]
    local entry = entries[key] or {}
    entries[key] = entry
    if part == 's' then entry.text = value
    elseif part == 'x' then expireAt(key, entry, tonumber(value) + 0.0)
    else
      if not entry.fields then entry.fields, entry.count = {}, 0 end
      setField(entry, key, string.sub(part, 2), value)
    end
  end
end
`
