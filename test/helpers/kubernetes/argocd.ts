/** Runs a health script like Argo CD: the object is `obj`, and the result is the health. */
import { lauxlib, lua, lualib, to_luastring } from 'fengari'

type State = Parameters<typeof lua.lua_pop>[0]

export function healthOf(script: string, object: unknown): { status: string; message: string } {
  const state = lauxlib.luaL_newstate()
  lualib.luaL_openlibs(state)
  push(state, object)
  lua.lua_setglobal(state, to_luastring('obj'))
  const code: number = lauxlib.luaL_dostring(state, to_luastring(script))
  if (code !== lua.LUA_OK) throw new Error(lua.lua_tojsstring(state, -1) ?? 'not said why')
  const member = (name: string) => {
    lua.lua_getfield(state, -1, to_luastring(name))
    const text = lua.lua_tojsstring(state, -1) ?? ''
    lua.lua_pop(state, 1)
    return text
  }
  return { status: member('status'), message: member('message') }
}

/** JSON as tables; absent values are nil. */
function push(state: State, value: unknown): void {
  if (typeof value === 'string') lua.lua_pushstring(state, to_luastring(value))
  else if (typeof value === 'number') lua.lua_pushnumber(state, value)
  else if (typeof value === 'boolean') lua.lua_pushboolean(state, value)
  else pushTable(state, Object(value))
}

function pushTable(state: State, value: object): void {
  lua.lua_createtable(state, 0, 0)
  if (Array.isArray(value)) {
    for (const [index, entry] of value.entries()) {
      push(state, entry)
      lua.lua_rawseti(state, -2, index + 1)
    }
    return
  }
  for (const [name, entry] of Object.entries(value)) {
    if (entry === undefined || entry === null) continue
    push(state, entry)
    lua.lua_setfield(state, -2, to_luastring(name))
  }
}
