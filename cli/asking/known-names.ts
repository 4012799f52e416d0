/** The names that a shell offers: of the gateway at hand, or of a configuration file. */
import { existsSync, readFileSync } from 'node:fs'
import { parseDocument } from '../../dataplane/config/document/document.ts'
import { isRecord, listBelow, valueBelow } from '../../dataplane/json/values.ts'
import { adminPlace, askAdmin } from './connection.ts'
import { foundPlace } from './place.ts'

const FILE = 'gw.yaml'
const NAMES_MAX = 1000
const TIMEOUT_MS = 2000
/** A shell expands other characters of an offer. */
const PLAIN = /^[A-Za-z0-9._:/@+-]+$/

/** `file`: only its names. Otherwise those of a gateway on this machine, else of gw.yaml in this folder. */
export async function knownNames(kind: string, file: string | undefined): Promise<string[]> {
  const tree = file === undefined ? ((await running()) ?? written(FILE)) : written(file)
  const names = new Set(namesIn(tree, kind).filter((name) => PLAIN.test(name)))
  return [...names].toSorted().slice(0, NAMES_MAX)
}

/** Its document, with all of its keys; undefined if no gateway answers. */
async function running(): Promise<unknown> {
  const { GW_ADMIN } = process.env
  try {
    const admin = GW_ADMIN ? adminPlace(GW_ADMIN) : (await foundPlace())?.admin
    if (admin === undefined) return undefined
    const ask = (path: string) => askAdmin(admin, path, { timeoutMs: TIMEOUT_MS })
    const [config, keys] = await Promise.all([ask('/config'), ask(`/keys?limit=${NAMES_MAX}`)])
    return { gw: { ...Object(config.body).gw, api_keys: listBelow(keys.body, 'keys') } }
  } catch {
    return undefined
  }
}

function written(path: string): unknown {
  if (!existsSync(path)) return undefined
  return parseDocument(readFileSync(path, 'utf8'), path).document?.tree
}

function namesIn(tree: unknown, kind: string): string[] {
  const all = (member: string, ...path: readonly string[]) =>
    listBelow(tree, 'gw', ...path).map((one) => String(valueBelow(one, member) ?? ''))
  const aliases = valueBelow(tree, 'gw', 'aliases')
  switch (kind) {
    case 'routes':
      return [...all('name', 'routes'), ...(isRecord(aliases) ? Object.keys(aliases) : [])]
    case 'keys':
      return all('id', 'api_keys')
    case 'tenants':
      return [
        ...all('tenant', 'api_keys'),
        ...all('tenant', 'budgets'),
        ...all('tenant', 'rate_limits', 'tenants'),
      ]
    case 'stores':
      return all('name', 'vector_stores')
    default:
      return all('name', kind)
  }
}
