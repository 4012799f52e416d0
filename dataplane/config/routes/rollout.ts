/** The settings of a rollout as the gateway judges by them: times in milliseconds, margins as numbers. */
import { hash } from 'node:crypto'
import type { RolloutSection } from '../../schema/index.ts'
import type { UpstreamSettings } from '../upstreams/settings.ts'

export interface RolloutPlan {
  readonly route: string
  /** The name of the new upstream. */
  readonly to: string
  /** Changes with the settings and with the model behind the upstream; another id is another rollout. */
  readonly id: string
  /** In percent, each larger. */
  readonly steps: readonly [number, ...number[]]
  readonly everyMs: number
  readonly requestsMin: number
  readonly isByTenant: boolean
  readonly margins: Margins
}

/** Percentage points for shares, percent for the others; undefined: not judged. */
export interface Margins {
  readonly errors: number
  readonly ttftP95: number | undefined
  readonly cost: number | undefined
  readonly finishLength: number | undefined
}

const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

export function rolloutPlan(
  route: string,
  section: RolloutSection,
  { section: upstream }: Pick<UpstreamSettings, 'section'>,
): RolloutPlan {
  const { model, provider, endpoint, pool } = upstream
  const [first = 100, ...rest] = section.steps
  const { errors, ttft_p95, cost, finish_length } = section.back_on
  return {
    route,
    to: section.to,
    id: hash('sha256', JSON.stringify([route, section, model, provider, endpoint, pool])).slice(
      0,
      16,
    ),
    steps: [first, ...rest],
    everyMs: msOf(section.every),
    requestsMin: section.requests,
    isByTenant: section.sticky === 'tenant',
    margins: {
      errors: percentOf(errors) ?? 1,
      ttftP95: percentOf(ttft_p95),
      cost: percentOf(cost),
      finishLength: percentOf(finish_length),
    },
  }
}

/** The schema has checked the form. */
function msOf(every: string): number {
  const unit = every.at(-1) as keyof typeof UNITS
  return Number(every.slice(0, -1)) * UNITS[unit]
}

function percentOf(margin: string | undefined): number | undefined {
  return margin === undefined ? undefined : Number.parseFloat(margin.replace('+', ''))
}
