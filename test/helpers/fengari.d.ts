/** The parts of Lua that the tests use; it has no types. */
declare module 'fengari' {
  type State = { readonly isLua: unique symbol }
  type LuaText = Uint8Array
  export const lua: {
    readonly LUA_OK: 0
    lua_createtable(state: State, list: number, fields: number): void
    lua_pushboolean(state: State, value: boolean): void
    lua_pushnumber(state: State, value: number): void
    lua_pushstring(state: State, value: LuaText): void
    lua_rawseti(state: State, at: number, index: number): void
    lua_setfield(state: State, at: number, name: LuaText): void
    lua_setglobal(state: State, name: LuaText): void
    lua_getfield(state: State, at: number, name: LuaText): void
    lua_tojsstring(state: State, at: number): string | null
    lua_pop(state: State, count: number): void
  }
  export const lauxlib: {
    luaL_newstate(): State
    luaL_dostring(state: State, script: LuaText): number
  }
  export const lualib: { luaL_openlibs(state: State): void }
  export function to_luastring(text: string): LuaText
}
