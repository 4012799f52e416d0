/**
 * Makes a refused document whole enough for the cross-field checks, so that all errors are shown
 * at once. Objects that had to be touched are named: what the checks say of them is not trusted.
 */
import type { z } from 'zod'
import { type Path, showPath } from './problems.ts'
import { API_VERSION, type Configuration, GatewayConfig, KIND } from './schema.ts'
import { pathOf } from './shape.ts'
import { isMap, type Tree, valueAt } from './tree.ts'

export interface Salvage {
  readonly configuration: Configuration
  /** Objects that were changed. */
  readonly touched: readonly Path[]
}

/** Dropping a field can bring up another fault; more rounds than this are not worth it. */
const ROUNDS_MAX = 4

export function salvage(tree: unknown): Salvage | undefined {
  const copy = structuredClone(tree)
  const touched = new Map<string, Path>()
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const parsed = GatewayConfig.safeParse(copy)
    if (parsed.success) return { configuration: parsed.data, touched: [...touched.values()] }
    for (const [number, issue] of parsed.error.issues.entries()) {
      for (const path of faultyFields(issue)) {
        const field = nearestField(copy, path)
        if (field === undefined) return undefined
        touched.set(showPath(field.path), field.path)
        replace(field.parent, field.key, `${round}${number}`)
      }
    }
  }
  return undefined
}

function faultyFields(issue: z.core.$ZodIssue): Path[] {
  const path = pathOf(issue)
  return issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...path, key]) : [path]
}

/** An entry of a list cannot go without moving those behind it, so the whole list goes. */
function nearestField(tree: unknown, path: Path) {
  const depth = path.findLastIndex((part) => typeof part === 'string')
  const key = path[depth]
  const parent = valueAt(tree, path.slice(0, depth))
  if (!isMap(parent) || typeof key !== 'string') return undefined
  return { parent, key, path: path.slice(0, depth) }
}

/** The field goes; a required one comes back with a value that suits it. */
function replace(parent: Tree, key: string, unique: string): void {
  delete parent[key]
  const initial = Object.hasOwn(STAND_INS, key) ? STAND_INS[key] : undefined
  if (initial !== undefined) parent[key] = initial(unique)
}

const STAND_INS: Record<string, ((unique: string) => unknown) | undefined> = {
  apiVersion: () => API_VERSION,
  kind: () => KIND,
  provider: () => 'openai',
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
