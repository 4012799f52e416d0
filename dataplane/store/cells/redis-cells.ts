/** Small named texts in Redis: one key each, replaced by a script that compares the version. */

import type { Link, Script } from '../redis/link.ts'
import { cellKey } from '../roots.ts'
import type { Cell, Cells } from './cells.ts'

const LOAD: Script = { name: 'load_cell', lua: "return redis.call('GET', KEYS[1])" }

/** A text begins with its version and a line feed. A text that is not replaced is deleted after 90 days. */
const SWAP: Script = {
  name: 'swap_cell',
  lua: `
local text = redis.call('GET', KEYS[1])
local version = text and string.match(text, '^%d+') or '0'
if version ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'EX', 7776000)
return 1`,
}

export class RedisCells implements Cells {
  readonly isShared = true
  readonly #link: Link
  readonly #prefix: string

  constructor(link: Link, prefix: string) {
    this.#link = link
    this.#prefix = prefix
  }

  async load(name: string): Promise<Cell | undefined> {
    const kept = await this.#link.run(LOAD, [cellKey(this.#prefix, name)], [])
    if (typeof kept !== 'string') return undefined
    const line = kept.indexOf('\n')
    return { version: Number(kept.slice(0, line)), text: kept.slice(line + 1) }
  }

  async swap(name: string, version: number, text: string): Promise<boolean> {
    const key = cellKey(this.#prefix, name)
    const taken = await this.#link.run(SWAP, [key], [version, `${version + 1}\n${text}`])
    return taken === 1
  }

  async close(): Promise<void> {}
}
