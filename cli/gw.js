#!/usr/bin/env node
/**
 * The tool `gw` as it is installed. Plain JavaScript: the first TypeScript of a start costs a third of it, unless what was
 * made of it the last time can be taken. It is kept where dataplane/compile-cache.ts keeps it, too.
 */
import { mkdirSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

const { HOME, XDG_CACHE_HOME, NODE_COMPILE_CACHE } = process.env
const home = XDG_CACHE_HOME ?? (HOME === undefined ? undefined : join(HOME, '.cache'))
if (NODE_COMPILE_CACHE === undefined && home !== undefined) {
  const folder = join(home, 'gw', 'compiled')
  try {
    // What is in it is run: nobody else may write there.
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    enableCompileCache(folder)
  } catch {
    // Nothing depends on it.
  }
}
const { main } = await import('./program.ts')
await main()
