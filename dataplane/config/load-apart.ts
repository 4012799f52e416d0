/** Loads a large configuration in a process of its own: requests do not wait for it, and its memory goes with it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { setPriority } from 'node:os'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { type Loaded, type LoadedData, loadData, withReferences } from './load.ts'
import type { Host } from './references.ts'
import type { Configuration } from './schema.ts'
import { hostOf, readConfiguration, readText } from './source.ts'

/** Bytes. What is smaller is read in some ten milliseconds; a process takes two hundred to begin. */
const LARGE = 256 * 1024

/** Entries of a long list that are handed over at once: a few milliseconds of the process that serves. */
const ENTRIES_AT_ONCE = 1_000

/** Requests that are served meanwhile come first. */
const NICENESS = 5

/**
 * Throws or rejects when the file cannot be read. `beside` are the files that it was known to name: a long list of keys
 * is as much work as a long document.
 */
export function readConfigurationApart(
  file: string,
  env: Host['env'],
  beside: readonly string[] = [],
): Loaded | Promise<Loaded> {
  const size = [file, ...beside].reduce((sum, path) => sum + sizeOf(path), 0)
  return size < LARGE ? readConfiguration(file, env) : readInProcess(file, env)
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

async function readInProcess(file: string, env: Host['env']): Promise<Loaded> {
  const child = spawn(process.execPath, [import.meta.filename, file], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [[code], complaint, data] = await Promise.all([
    once(child, 'close'),
    text(child.stderr),
    receive(child.stdout),
  ])
  if (code !== 0 || data === undefined) throw new Error(complaint.trim() || `ended with ${code}`)
  return withReferences(data)
}

/** The first line is all but the entries of long lists; each one after it has some of them. */
async function receive(stdout: Readable): Promise<LoadedData | undefined> {
  let data: LoadedData | undefined
  for await (const line of createInterface({ input: stdout })) {
    const message = JSON.parse(line)
    if (data === undefined) data = { ...message, uses: new Map(message.uses) }
    else longListsOf(data)[message.list]?.push(...message.entries)
  }
  return data
}

function send({ uses, ...data }: LoadedData): void {
  const lists = longListsOf(data)
  const { configuration } = data
  const short = configuration && { configuration: withoutLongLists(configuration) }
  write({ ...data, ...short, uses: [...uses] })
  for (const [list, entries] of lists.entries()) {
    for (let first = 0; first < entries.length; first += ENTRIES_AT_ONCE) {
      write({ list, entries: entries.slice(first, first + ENTRIES_AT_ONCE) })
    }
  }
}

/** Pipes are written to at once on Linux; elsewhere the process lasts until all has gone out. */
function write(message: object): void {
  process.stdout.write(`${JSON.stringify(message)}\n`)
}

function longListsOf({ configuration }: Pick<LoadedData, 'configuration'>): unknown[][] {
  if (configuration === undefined) return []
  const { api_keys, budgets, rate_limits } = configuration.gw
  return [api_keys, budgets, rate_limits?.tenants ?? []]
}

function withoutLongLists({ gw, ...others }: Configuration): Configuration {
  const rate_limits = gw.rate_limits && { rate_limits: { ...gw.rate_limits, tenants: [] } }
  return { ...others, gw: { ...gw, api_keys: [], budgets: [], ...rate_limits } }
}

if (import.meta.main) {
  setPriority(NICENESS)
  const file = process.argv[2] ?? ''
  try {
    send(loadData(readText(file), file, hostOf(process.env), 'run'))
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
    process.exitCode = 1
  }
}
