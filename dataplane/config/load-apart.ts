/** Loads a large configuration in a separate process: requests do not wait for it, and its memory goes with it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { setPriority } from 'node:os'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { parseJson } from '../json/parse.ts'
import type { Configuration } from '../schema/index.ts'
import type { Host, ReferenceUse } from './document/references.ts'
import { hostOf, readConfiguration, readText } from './document/source.ts'
import {
  type Loaded,
  type LoadedData,
  loadConfiguration,
  loadData,
  withReferences,
} from './load.ts'

/** Bytes. A smaller document takes some ten milliseconds; a process takes two hundred to start. */
const LARGE = 256 * 1024

/** Entries of a long list that are handed over at once: a few milliseconds of the process that serves. */
const ENTRIES_AT_ONCE = 1_000

/** Lower priority than the requests of the serving process. */
const NICENESS = 5

interface LoadOptions {
  /** Files that it was known to name: a long list of keys is as much work as a long document. */
  readonly beside?: readonly string[]
  readonly isServing?: boolean
}

/** Throws or rejects when the file cannot be read. */
export function readConfigurationApart(
  file: string,
  env: Host['env'],
  { beside = [], isServing = false }: LoadOptions = {},
): Loaded | Promise<Loaded> {
  const size = [file, ...beside].reduce((sum, path) => sum + sizeOf(path), 0)
  return size < LARGE ? readConfiguration(file, env) : loadInProcess({ file, env, isServing })
}

/** The same for a document that was sent; `file`: its path for messages. */
export function loadConfigurationApart(
  document: string,
  file: string,
  env: Host['env'],
): Loaded | Promise<Loaded> {
  const isLarge = document.length >= LARGE
  return isLarge
    ? loadInProcess({ file, env, document, isServing: true })
    : loadConfiguration(document, file, hostOf(env))
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

interface Order {
  readonly file: string
  readonly env: Host['env']
  /** The content of the file; absent: the process reads the file. */
  readonly document?: string
  readonly isServing: boolean
}

async function loadInProcess({ file, env, document, isServing }: Order): Promise<Loaded> {
  const source = document === undefined ? 'file' : 'input'
  const child = spawn(process.execPath, [import.meta.filename, source, file], { env })
  if (isServing && child.pid !== undefined) setPriority(child.pid, NICENESS)
  // The exit of the process shows why it did not read all of it.
  child.stdin.on('error', () => undefined)
  child.stdin.end(document)
  const [[code], complaint, data] = await Promise.all([
    once(child, 'close'),
    text(child.stderr),
    receive(child.stdout),
  ])
  if (code !== 0 || data === undefined) throw new Error(complaint.trim() || `ended with ${code}`)
  return withReferences(data)
}

type First = Omit<LoadedData, 'uses'> & {
  readonly uses: [string, ReferenceUse][]
}
interface More {
  readonly list: number
  readonly entries: readonly unknown[]
}

/** The first line is all but the entries of long lists; each one after it has some of them. */
async function receive(stdout: Readable): Promise<LoadedData | undefined> {
  let data: LoadedData | undefined
  for await (const line of createInterface({ input: stdout })) {
    const message = parseJson(line)
    if (data === undefined) {
      const first = message as First
      data = { ...first, uses: new Map(first.uses) }
      continue
    }
    const { list, entries } = message as More
    longListsOf(data)[list]?.push(...entries)
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

/** On Linux, pipes are written at once; elsewhere the process lives until everything was written. */
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
  const [source, file = ''] = process.argv.slice(2)
  try {
    const document = source === 'input' ? await text(process.stdin) : readText(file)
    send(loadData(document, file, hostOf(process.env), 'run'))
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
    process.exitCode = 1
  }
}
