/**
 * The used parts of undici, each imported from its file: the index also loads fetch, WebSocket and caches, which are 4
 * MiB and eighty modules in every process.
 */
import { createRequire } from 'node:module'
import type * as undici from 'undici'

const require = createRequire(import.meta.url)

// The index does the same: `request` and its like are methods of every dispatcher.
Object.assign(
  require('undici/lib/dispatcher/dispatcher.js').prototype,
  require('undici/lib/api/index.js'),
)

export const Pool: typeof undici.Pool = require('undici/lib/dispatcher/pool.js')
export const buildConnector: typeof undici.buildConnector = require('undici/lib/core/connect.js')
export const DecoratorHandler: typeof undici.DecoratorHandler = require('undici/lib/handler/decorator-handler.js')
