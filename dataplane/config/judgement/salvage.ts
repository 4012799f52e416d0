/**
 * Makes a refused document whole enough for the cross-field checks, so that all errors are shown
 * at once. It returns the objects that it changed, because findings about them cannot be trusted.
 */

import type { z } from 'zod'
import { isRecord, valueBelow } from '../../json/values.ts'
import { STAND_IN_PROVIDER } from '../../providers/index.ts'
import { API_VERSION, type Configuration, GatewayConfig, KIND } from '../../schema/index.ts'
import type { Tree } from '../document/tree.ts'
import { type Finding, type Path, showPath } from './problems.ts'
import { pathOf } from './shape.ts'

export interface Salvage {
  readonly configuration: Configuration
  /** Objects that were changed. */
  readonly touched: readonly Path[]
}

/** Most rounds: dropping a field can reveal another fault. */
const ROUNDS_MAX = 4

export function salvage(tree: unknown): Salvage | undefined {
  const copy = structuredClone(tree)
  const touched = new Map<string, Path>()
  const names: Name[] = []
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const parsed = GatewayConfig.safeParse(copy)
    if (parsed.success) {
      putBack(parsed.data, names)
      return { configuration: parsed.data, touched: [...touched.values()] }
    }
    for (const [number, issue] of parsed.error.issues.entries()) {
      for (const path of faultyFields(issue)) {
        const field = nearestField(copy, path)
        if (field === undefined) return undefined
        touched.set(showPath(field.path), field.path)
        const written = field.parent[field.key]
        if (NAMES.has(field.key) && typeof written === 'string' && SHOWN_NAME.test(written))
          names.push({ ...field, written })
        replace(field.parent, field.key, `${round}${number}`)
      }
    }
  }
  return undefined
}

interface Name {
  readonly path: Path
  readonly key: string
  readonly written: string
}

const NAMES = new Set(['name', 'id', 'tenant'])
/** Whether the name is short and plain enough for a message. */
const SHOWN_NAME = /^\P{C}{1,100}$/u

/** Names that are not allowed stay defined, so that references to them do not count as unknown. */
function putBack(configuration: Configuration, names: readonly Name[]): void {
  for (const { path, key, written } of names) {
    const owner = valueBelow(configuration, ...path)
    if (isRecord(owner)) owner[key] = written
  }
}

const STAND_IN = /"unnamed-\d+"/

/** These names are invented here, so findings about them are dropped. */
export function withoutStandIns(findings: readonly Finding[]): Finding[] {
  return findings
    .filter(({ message }) => !STAND_IN.test(message))
    .map((finding) => {
      if (!STAND_IN.test(finding.fix)) return finding
      const names = finding.fix.match(/"[^"]*"/g)?.filter((name) => !STAND_IN.test(name)) ?? []
      const fix = names.length === 0 ? 'Correct the name.' : `Use one of: ${names.join(', ')}.`
      return { ...finding, fix }
    })
}

function faultyFields(issue: z.core.$ZodIssue): Path[] {
  const path = pathOf(issue)
  return issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...path, key]) : [path]
}

/** Removing an entry would shift the entries after it, so the whole list is removed. */
function nearestField(tree: unknown, path: Path) {
  const depth = path.findLastIndex((part) => typeof part === 'string')
  const key = path[depth]
  const parent = valueBelow(tree, ...path.slice(0, depth))
  if (!isRecord(parent) || typeof key !== 'string') return undefined
  return { parent, key, path: path.slice(0, depth) }
}

/** Removes the field; a required field gets a valid value instead. */
function replace(parent: Tree, key: string, unique: string): void {
  delete parent[key]
  const initial = Object.hasOwn(STAND_INS, key) ? STAND_INS[key] : undefined
  if (initial !== undefined) parent[key] = initial(unique)
}

const STAND_INS: Record<string, ((unique: string) => unknown) | undefined> = {
  apiVersion: () => API_VERSION,
  kind: () => KIND,
  provider: () => STAND_IN_PROVIDER,
  model: () => 'unknown',
  strategy: () => 'round_robin',
  name: (unique) => `unnamed-${unique}`,
  id: (unique) => `unnamed-${unique}`,
  tenant: (unique) => `unnamed-${unique}`,
  hash: (unique) => `sha256:${unique.padStart(64, '0')}`,
  routes: () => ['*'],
  input: () => 0,
  output: () => 0,
}
