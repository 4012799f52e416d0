/** Collects this tier's measurements and the operator's promises in one table. */
import { appendRow, type Promises, tableOf } from '../helpers/results.ts'

/** The promises, in the order of the table. */
const PROMISES = {
  edit: ['an edit is enforced by every pod, under load', 'no failed request', 'p99 < 2 s'],
  mistakes: ['a bad edit', 'refused with path and fix; pods as they were', 'in 2 s'],
  admission: [
    'a bad edit where the webhook is on',
    'refused at apply with path and fix, not stored',
  ],
  hangs: ['a pod that hangs is named', 'the others enforce the edit', 'within 15 s'],
  store_away: ['the store of a gateway is away', 'not ready', 'within 5 s'],
  refuses: [
    'a pod that refuses is named with its error',
    'the others enforce the edit',
    'within 15 s',
  ],
  killed: ['operator killed in the middle of a push', 'converges', '< 30 s'],
  two: ['two operators at once', 'one writes: as many sequences as edits'],
  away: ['API server away', 'pods serve; converges', '< 30 s after it is back'],
  half_open: ['every watch half-open', 'converges; at most 1 list of a kind in 5 s', '< 30 s'],
  expired: ['a storm of expired versions', 'converges; at most 1 list of a kind in 5 s', '< 30 s'],
  broken: [
    'cut and broken answers, 429, 500',
    'converges; at most 1 list of a kind in 5 s',
    '< 30 s',
  ],
  pushes: ['pushes that are unsigned, replayed, older, foreign, huge, half', 'refused, old kept'],
  memory: ['memory of the operator', '< 250 MiB'],
  cpu: ['its CPU when nothing changes', '< 5 % of a core'],
  edit_among_many: ['a single edit among them', 'enforced', '< 2 s'],
  revoked: ['a key is revoked', '401 on every pod', 'within 5 s'],
  revoked_invalid: [
    'the same while the configuration is invalid',
    '401 on every pod',
    'within 5 s',
  ],
  revoked_refused: [
    'the same while the pods refuse the configuration',
    '401 on every pod',
    'within 5 s',
  ],
  deleted: ['a GatewayKey is deleted', '401 on every pod', 'within 5 s'],
  secrets: ['Secret missing, created, rotated', 'one upstream out; heals without edit or restart'],
  foreign: ['key of a foreign namespace or tenant, duplicate hash', 'not Accepted, no effect'],
  gone: ['a gateway is deleted', 'all that it made is gone, nothing else'],
  rights: ['rights asked for and granted', 'the same, both ways'],
  rollouts: ['gateways that roll at once after an upgrade', 'as many as maxConcurrentRollouts'],
  rotation: ['the signing key is replaced', 'no pod restarts, edits go on'],
} as const satisfies Promises

export type PromiseId = keyof typeof PROMISES

/** Adds a row to the table of this run, if the run writes one. */
export function recordFigure(id: PromiseId, measured: string, circumstances = ''): void {
  appendRow({ id, measured, circumstances })
}

export function figuresTable(file: string): string {
  return tableOf(PROMISES, file)
}

export function milliseconds(value: number): string {
  return value < 10_000 ? `${Math.round(value)} ms` : `${(value / 1000).toFixed(1)} s`
}

/**
 * The bound of a test for a promised value. A long run checks the promise itself. A short run shares its machine with
 * other programs, so it allows more.
 */
export function allowed(promised: number): number {
  return process.env.GW_LONG === '1' ? promised : 3 * promised
}

/** The quantile of the measured values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN
}
