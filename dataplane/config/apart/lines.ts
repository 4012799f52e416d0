/** A loaded configuration as lines of JSON, from the process that loaded it to the one that serves it. */
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { parseJson } from '../../json/parse.ts'
import type { Configuration } from '../../schema/index.ts'
import type { ReferenceUse } from '../document/references.ts'
import type { LoadedData } from './loaded.ts'

/** Entries of a long list that are handed over at once: a few milliseconds of the process that serves. */
const ENTRIES_AT_ONCE = 1_000

type First = Omit<LoadedData, 'uses'> & {
  readonly uses: [string, ReferenceUse][]
}
interface More {
  readonly list: number
  readonly entries: readonly unknown[]
}

/** The first line is all but the entries of long lists; each one after it has some of them. */
export async function receive(stdout: Readable): Promise<LoadedData | undefined> {
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

export function send({ uses, ...data }: LoadedData): void {
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
