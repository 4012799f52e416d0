/** The commands that scripts may call: those that the scripts of the gateway use. */

/** Each with the least and most arguments that it takes, counted without its name. */
export const COMMANDS = `
local commands = {}
-- Channel and message of all that the script published, and how many listen to a channel.
local published, listeners = {}, {}

local function refuse(why) error({ err = why }, 0) end

local function wholeNumber(text)
  local number = string.match(text, '^%-?%d+$') and math.tointeger(tonumber(text))
  if not number then refuse('ERR value is not an integer or out of range') end
  return number
end

local function command(name, least, most, run) commands[name] = { least = least, most = most, run = run } end

command('TIME', 0, 0, function()
  local seconds = now // 1000
  return { string.format('%.0f', seconds), string.format('%.0f', (now - seconds * 1000) * 1000 + micros) }
end)

command('GET', 1, 1, function(args) return textOf(args[1]) end)

command('SET', 2, 4, function(args, count)
  local unit = count > 2 and string.upper(args[3]) or 'PX'
  if count == 3 or (unit ~= 'PX' and unit ~= 'EX') then refuse('ERR syntax error') end
  local life = count == 4 and wholeNumber(args[4]) * (unit == 'EX' and 1000 or 1)
  if life and life <= 0 then refuse("ERR invalid expire time in 'set' command") end
  setText(args[1], args[2], life and now + life)
  return { ok = 'OK' }
end)

command('HGET', 2, 2, function(args)
  local hash = hashOf(args[1])
  return hash and hash.fields[args[2]] or false
end)

command('HMGET', 2, math.huge, function(args, count)
  local hash, values = hashOf(args[1]), {}
  for i = 2, count do values[i - 1] = hash and hash.fields[args[i]] or false end
  return values
end)

command('HSET', 3, math.huge, function(args, count)
  if count % 2 == 0 then refuse("ERR wrong number of arguments for 'hset' command") end
  local hash, added = hashOf(args[1], true), 0
  for i = 2, count, 2 do
    if setField(hash, args[1], args[i], args[i + 1]) then added = added + 1 end
  end
  return added
end)

command('HSETNX', 3, 3, function(args)
  local hash = hashOf(args[1], true)
  if hash.fields[args[2]] then return 0 end
  setField(hash, args[1], args[2], args[3])
  return 1
end)

command('HDEL', 2, math.huge, function(args, count)
  local hash, gone = hashOf(args[1]), 0
  if not hash then return 0 end
  for i = 2, count do
    if hash.fields[args[i]] then
      hash.fields[args[i]], gone = nil, gone + 1
      markField(args[1], args[i])
    end
  end
  hash.count = hash.count - gone
  if hash.count == 0 then remove(args[1]) end
  return gone
end)

command('HLEN', 1, 1, function(args)
  local hash = hashOf(args[1])
  return hash and hash.count or 0
end)

command('HVALS', 1, 1, function(args)
  local hash, values = hashOf(args[1]), {}
  for _, value in next, hash and hash.fields or {} do values[#values + 1] = value end
  return values
end)

command('HGETALL', 1, 1, function(args)
  local hash, all, count = hashOf(args[1]), {}, 0
  for field, value in next, hash and hash.fields or {} do
    all[count + 1], all[count + 2] = field, value
    count = count + 2
  end
  return all
end)

-- Any field will do for those who ask for a random one.
command('HRANDFIELD', 1, 1, function(args)
  local hash = hashOf(args[1])
  return hash and next(hash.fields) or false
end)

command('PEXPIRE', 2, 2, function(args)
  local entry, life = find(args[1]), wholeNumber(args[2])
  if not entry then return 0 end
  if life <= 0 then remove(args[1]) else expireAt(args[1], entry, now + life) end
  return 1
end)

command('PUBLISH', 2, 2, function(args)
  published[#published + 1], published[#published + 2] = args[1], args[2]
  return listeners[args[1]] or 0
end)

command('INFO', 0, 1, function() return info() end)

-- As Redis writes a number. The zero may be negative.
local function argument(value)
  local kind = type(value)
  if kind == 'string' then return value end
  if kind ~= 'number' then refuse('ERR Lua redis lib command arguments must be strings or integers') end
  local whole = value ~= 0 and value > -1e15 and value < 1e15 and math.tointeger(value)
  return whole and string.format('%d', whole) or string.format('%.17g', value)
end

local function call(name, ...)
  if name == nil then refuse('ERR Please specify at least one argument for this redis.call() call') end
  local known = commands[name] or commands[string.upper(argument(name))]
  if not known then refuse('ERR Unknown Redis command called from script') end
  local args, count = { ... }, select('#', ...)
  if count < known.least or count > known.most then
    refuse('ERR Wrong number of args calling Redis command from script')
  end
  for i = 1, count do
    if type(args[i]) ~= 'string' then args[i] = argument(args[i]) end
  end
  return known.run(args, count)
end

local redis = { call = call }
function redis.pcall(...)
  local isDone, result = pcall(call, ...)
  if isDone or type(result) == 'table' then return result end
  return { err = tostring(result) }
end
`
