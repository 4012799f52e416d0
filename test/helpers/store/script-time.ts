/** A link whose scripts see a time that a test chooses instead of the server's. */
import type { Link, Script } from '../../../dataplane/store/redis/link.ts'

const SERVER_TIME = "call('TIME')"

/** The time is one more key, of the same tenant, because scripts read their arguments to the end. */
const CHOSEN_TIME =
  "local CHOSEN_TIME = (function(ms) return { math.floor(ms / 1000), ms % 1000 * 1000 } end)(string.match(KEYS[#KEYS], '#(%d+)$'))\n"

const timed = new Map<Script, Script>()

export function atTime(link: Link, time: () => number): Link {
  return {
    run: (script, keys, args) =>
      link.run(timedScript(script), [...keys, `${keys[0]}#${time()}`], args),
  }
}

/** Only its first read of the clock: the second one distinguishes two lives of a window. */
function timedScript(script: Script): Script {
  let made = timed.get(script)
  if (made === undefined) {
    if (!script.lua.includes(SERVER_TIME)) throw new Error(`${script.name} has another clock.`)
    const lua = script.lua
      .replace(SERVER_TIME, 'CHOSEN_TIME')
      .replace(/^#!lua\n/, (first) => `${first}${CHOSEN_TIME}`)
    made = { name: script.name, lua }
    timed.set(script, made)
  }
  return made
}
