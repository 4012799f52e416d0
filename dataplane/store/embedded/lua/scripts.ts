/** Runs the texts of scripts in the virtual machine, and writes their replies as Redis does. */
import { COMMANDS } from './commands.ts'
import { MESSAGES } from './messages.ts'
import { VALUES } from './values.ts'

/** Texts beyond that are forgotten; a caller sends its text again. */
const SCRIPTS_MAX = 500

/**
 * Redis has Lua 5.1, this is 5.4: numbers that a script reads or rounds are floats, `unpack` is global, and a number as a
 * text has at most 14 digits. A script that reads or sets a global that it does not have fails.
 */
const WORLD = `
local function plain(library)
  local copy = {}
  for name, one in next, library do copy[name] = one end
  return copy
end

local world = {
  pairs = pairs, ipairs = ipairs, next = next, select = select, type = type, error = error, assert = assert, pcall = pcall,
  unpack = table.unpack, string = plain(string), table = plain(table), math = plain(math),
  redis = redis, cmsgpack = cmsgpack,
}
do
  local floor, ceil, toNumber, toText = math.floor, math.ceil, tonumber, tostring
  function world.math.floor(value) return floor(value) + 0.0 end
  function world.math.ceil(value) return ceil(value) + 0.0 end
  function world.tonumber(value, base)
    local number
    if base then number = toNumber(value, base) else number = toNumber(value) end
    return number and number + 0.0
  end
  function world.tostring(value)
    return type(value) == 'number' and string.format('%.14g', value) or toText(value)
  end
end
setmetatable(world, {
  __index = function(_, name) error('Script attempted to access nonexistent global variable ' .. tostring(name), 2) end,
  __newindex = function(_, name) error('Script attempted to set global variable ' .. tostring(name), 2) end,
})
`

const REPLIES = String.raw`
local write
local function writeTable(out, value)
  if type(value.err) == 'string' then
    out[#out + 1] = '-' .. string.gsub(value.err, '[\r\n]', ' ') .. '\r\n'
  elseif type(value.ok) == 'string' then
    out[#out + 1] = '+' .. string.gsub(value.ok, '[\r\n]', ' ') .. '\r\n'
  else
    -- A list ends before its first nil.
    local count = 0
    while value[count + 1] ~= nil do count = count + 1 end
    out[#out + 1] = '*' .. count .. '\r\n'
    for i = 1, count do write(out, value[i]) end
  end
end

function write(out, value)
  local kind = type(value)
  if kind == 'number' then
    local whole = value >= 0 and math.floor(value) or math.ceil(value)
    out[#out + 1] = ':' .. (math.tointeger(whole) or math.mininteger) .. '\r\n'
  elseif kind == 'string' then
    out[#out + 1] = '$' .. #value .. '\r\n' .. value .. '\r\n'
  elseif kind == 'table' then writeTable(out, value)
  elseif value == true then out[#out + 1] = ':1\r\n'
  else out[#out + 1] = '$-1\r\n' end
end

local function reply(value)
  local out = {}
  write(out, value)
  return table.concat(out)
end
`

const RUN = String.raw`
local scripts, scriptCount = {}, 0

-- Redis names the script after the words of an error.
local function failure(sha, why)
  local words = type(why) == 'table' and tostring(why.err) or 'ERR ' .. tostring(why)
  return reply({ err = words .. ' script: ' .. sha .. ', on @user_script.' })
end

local function compiled(sha, text)
  local script, why = load((string.gsub(text, '^#![^\n]*', '', 1)), '=user_script', 't', world)
  if not script then return nil, reply({ err = 'ERR Error compiling script (new function): ' .. why }) end
  if scriptCount >= ${SCRIPTS_MAX} then scripts, scriptCount = {}, 0 end
  scripts[sha], scriptCount = script, scriptCount + 1
  return script
end

local function isFull() return collectgarbage('count') * 1024 > MEMORY_MAX end

local function setTime(ms, us) now, micros = ms, us end

-- The text is empty if the caller believes it to be known. Returns the reply, then channel and message of all that was published.
local function run(sha, text, keyCount, ms, us, ...)
  local script = scripts[sha]
  if not script and text == '' then return reply({ err = 'NOSCRIPT No matching script. Please use EVAL.' }) end
  if isFull() then return reply({ err = "OOM command not allowed when used memory > 'maxmemory'." }) end
  local why
  if not script then script, why = compiled(sha, text) end
  if not script then return why end
  setTime(ms, us)
  local args, count = { ... }, select('#', ...)
  local first = math.tointeger(keyCount)
  rawset(world, 'KEYS', table.move(args, 1, first, 1, {}))
  rawset(world, 'ARGV', table.move(args, first + 1, count, 1, {}))
  local isDone, result = pcall(script)
  local text = isDone and reply(result) or failure(sha, result)
  if #published == 0 then return text end
  local all = published
  published = {}
  return text, table.unpack(all)
end

return run, function(...)
  setTime(...)
  sweep()
  -- Values that are gone still count.
  if isFull() then collectgarbage() end
  return ''
end, drain, function(isOn)
  isKept = isOn == 'yes'
  return ''
end, function(...)
  restore(...)
  return ''
end, function(channel, count)
  listeners[channel] = tonumber(count)
  return ''
end, info
`

const INFO = String.raw`
local micros = 0
local function info()
  local used = math.floor(collectgarbage('count') * 1024)
  return '# Memory\r\nused_memory:' .. used .. '\r\nmaxmemory:' .. MEMORY_MAX .. '\r\nmaxmemory_policy:noeviction\r\n'
end
`

/**
 * Returns the functions in the order of `FUNCTIONS` in `../vm.ts`. Nothing is run beyond that many bytes of memory, a part
 * of them garbage.
 */
export function programOf(memoryMax: number): string {
  const limit = `local MEMORY_MAX = ${memoryMax}\n`
  return [limit, INFO, MESSAGES, VALUES, COMMANDS, WORLD, REPLIES, RUN].join('')
}
