/** MessagePack for scripts, as Redis has it: what is packed one after the other is unpacked together. */

/**
 * Only the widest forms are written and read, because nothing else reads the values. Every number is a float, so that
 * scripts count as in Redis, whose Lua has no integers that could overflow; a negative zero is packed as zero.
 */
export const MESSAGES = `
local cmsgpack = {}
do
  local pack, unpack, byte = string.pack, string.unpack, string.byte
  local NIL, FALSE, TRUE, NUMBER, TEXT, LIST, MAP = 0xc0, 0xc2, 0xc3, 0xcb, 0xdb, 0xdd, 0xdf
  local DEPTH_MAX = 16

  local encode
  local function encodeTable(out, value, depth)
    if depth > DEPTH_MAX then out[#out + 1] = string.char(NIL) return end
    local count = 0
    for _ in next, value do count = count + 1 end
    if count == #value then
      out[#out + 1] = pack('>BI4', LIST, count)
      for i = 1, count do encode(out, value[i], depth + 1) end
      return
    end
    out[#out + 1] = pack('>BI4', MAP, count)
    for name, one in next, value do
      encode(out, name, depth + 1)
      encode(out, one, depth + 1)
    end
  end

  function encode(out, value, depth)
    local kind = type(value)
    if kind == 'number' then out[#out + 1] = pack('>Bd', NUMBER, value + 0.0)
    elseif kind == 'string' then out[#out + 1] = pack('>Bs4', TEXT, value)
    elseif kind == 'table' then encodeTable(out, value, depth)
    elseif kind == 'boolean' then out[#out + 1] = string.char(value and TRUE or FALSE)
    else out[#out + 1] = string.char(NIL) end
  end

  local function decode(text, at)
    local kind = byte(text, at)
    if kind == NUMBER then return unpack('>d', text, at + 1) end
    if kind == TEXT then return unpack('>s4', text, at + 1) end
    if kind == NIL then return nil, at + 1 end
    if kind == TRUE or kind == FALSE then return kind == TRUE, at + 1 end
    if kind ~= LIST and kind ~= MAP then error('Bad data format in input.', 0) end
    local count, value, name = nil, {}, nil
    count, at = unpack('>I4', text, at + 1)
    for i = 1, count do
      if kind == MAP then name, at = decode(text, at) else name = i end
      value[name], at = decode(text, at)
    end
    return value, at
  end

  function cmsgpack.pack(...)
    local out = {}
    for i = 1, select('#', ...) do encode(out, (select(i, ...)), 1) end
    return table.concat(out)
  end

  function cmsgpack.unpack(text)
    local values, count, at = {}, 0, 1
    while at <= #text do
      count = count + 1
      values[count], at = decode(text, at)
    end
    return table.unpack(values, 1, count)
  end
end
`
