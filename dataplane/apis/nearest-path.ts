/** The API that a client probably means by an unknown path. */
import type { Api } from '../request/api.ts'
import { APIS } from './index.ts'

interface Known {
  readonly api: Api
  readonly pairs: ReadonlySet<string>
}

/** In order of use: if two paths are equally near, the first applies. */
const KNOWN: readonly Known[] = APIS.filter(({ path }) => path !== '/' && !path.endsWith('*')).map(
  (api) => ({ api, pairs: pairsOf(api.path) }),
)

/** Compares the letter pairs that both paths have; `shown` is short. */
export function nearestPath(shown: string): Pick<Api, 'method' | 'path'> {
  const pairs = pairsOf(shown.toLowerCase())
  let best = KNOWN[0] as Known
  let most = 0
  for (const one of KNOWN) {
    let shared = 0
    for (const pair of one.pairs) if (pairs.has(pair)) shared++
    const likeness = shared / (one.pairs.size + pairs.size)
    if (likeness <= most) continue
    most = likeness
    best = one
  }
  return best.api
}

function pairsOf(path: string): Set<string> {
  return new Set(Array.from({ length: path.length - 1 }, (_, at) => path.slice(at, at + 2)))
}
