#!/usr/bin/env node
/**
 * The tool `gw` as it is installed. Plain JavaScript, for two reasons: the first TypeScript of a start costs a third of it,
 * unless compiled code can be taken from the last time; and a Node that is too old for TypeScript must still be able to read
 * this file, to start the Node that is installed beside it.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Runs TypeScript as it is. */
const OLDEST_NODE = 24
const FOLDER = fileURLToPath(new URL('..', import.meta.url))
/** A package of npm has compiled code instead: Node takes types away from no file below `node_modules`. */
const HAS_SOURCES = existsSync(join(FOLDER, 'cli/program.ts'))
/** In the folder of the package, and beside it where npm has put all packages into one folder. */
const INSTALLED_NODES = ['node_modules/node/bin/node', '../node/bin/node']

if (Number.parseInt(process.versions.node, 10) >= OLDEST_NODE) await start()
else relaunch()

async function start() {
  await keepCompiled()
  const { main } = await import(HAS_SOURCES ? './program.ts' : '../dist/cli/program.js')
  await main()
}

/** It is kept where dataplane/base/start-anew.ts keeps it, too. */
async function keepCompiled() {
  const { HOME, XDG_CACHE_HOME, NODE_COMPILE_CACHE } = process.env
  const home = XDG_CACHE_HOME ?? (HOME === undefined ? undefined : join(HOME, '.cache'))
  if (NODE_COMPILE_CACHE !== undefined || home === undefined) return
  const folder = join(home, 'gw', 'compiled')
  try {
    const { enableCompileCache } = await import('node:module')
    // The tool runs the code in it, so no other user may write there.
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    enableCompileCache(folder)
  } catch {
    // Nothing depends on it.
  }
}

/** The same command in the Node that came with the packages. */
function relaunch() {
  const node = INSTALLED_NODES.map((path) => join(FOLDER, path)).find((path) => existsSync(path))
  if (node === undefined) {
    const brought = HAS_SOURCES
      ? `, or run \`npm ci\` in ${FOLDER} to get one that only gw uses`
      : ''
    const needs = `gw needs Node ${OLDEST_NODE} or newer, and this is ${process.version}`
    return fail(`${needs}; install a newer one${brought}`)
  }
  const child = spawn(node, process.argv.slice(1), { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    // A terminal sends Ctrl-C to both.
    process.on(signal, () =>
      signal === 'SIGINT' && process.stdin.isTTY ? undefined : child.kill(signal),
    )
  }
  child.on('error', (error) => fail(`${node} cannot be started: ${error.message}`))
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + (constants.signals[signal] ?? 0)
  })
}

function fail(message) {
  process.stderr.write(`error: ${message}\n`)
  process.exitCode = 2
}
