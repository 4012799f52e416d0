/** A gateway in front of the scripted model, with a key for each case of one client, and its log after the run. */
import { recordOf } from '../../dataplane/json/values.ts'
import { aKey } from '../helpers/a-key.ts'
import { type Front, startFront } from '../helpers/fake-upstream.ts'
import type { Row } from './rows.ts'
import { MODELS, type Model } from './upstream.ts'

export const CASES = [
  ...(['whole', 'stream', 'tools', 'shape', 'bad', 'unknown', 'spent', 'scope'] as const),
  ...(['missing', 'busy', 'cut', 'slow', 'leave'] as const),
]
export type Case = (typeof CASES)[number]

export interface Line {
  readonly status: number
  readonly tenant: string | undefined
  readonly request_id: string
  readonly stream: boolean
  readonly prompt_tokens?: number
  readonly completion_tokens?: number
}

export interface Rig {
  readonly front: Front
  readonly keys: Readonly<Record<Case, string>>
  /** Every model request of a case; requests without a key have no tenant. */
  lines(one: Case): Line[]
}

/** Each case has a tenant, so their accounts stay separate. */
export async function startRig({ isSlow = false }: Row, model: Model): Promise<Rig> {
  const known = CASES.filter((one) => one !== 'unknown')
  const made = known.map((one) => ({
    one,
    ...aKey({ id: one, tenant: one, routes: one === 'scope' ? ['none'] : [...MODELS] }),
  }))
  const front = await startFront({
    upstreams: MODELS.map((name) => ({ name, endpoint: model.upstream.url, model: name })),
    routes: [...MODELS, 'none'].map((name) => ({
      name,
      strategy: 'single',
      primary: name === 'none' ? 'plain' : name,
      max_tokens_default: 500,
    })),
    gateway: { sse: { heartbeat_seconds: 1 } },
    rate_limits: {
      tenants: [{ tenant: 'busy', requests_per_minute: isSlow ? 4 : 30, burst: 1 }],
    },
    budgets: [{ tenant: 'spent', tokens_per_day: 5 }],
    api_keys: made.map(({ record }) => record),
  })
  const unknown = aKey({ id: 'unknown' }).key
  const keys = Object.fromEntries(made.map(({ one, key }) => [one, key]))
  return {
    front,
    keys: { ...keys, unknown } as Rig['keys'],
    lines(one) {
      const lines = front.logged('request').map(recordOf) as unknown as (Line & { path: string })[]
      const asked = lines.filter(({ path }) => /completions$|responses$|messages$/.test(path))
      return asked.filter(({ tenant }) => tenant === (one === 'unknown' ? undefined : one))
    },
  }
}
