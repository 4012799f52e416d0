/** A route whose upstreams count as the test sets, and the admission of requests to it. */
import assert from 'node:assert/strict'
import { admit } from '../../../dataplane/request/stages/admit.ts'
import type { Counter } from '../../../dataplane/tokens/counter.ts'
import { aRequest } from '../../helpers/providers/a-request.ts'
import { assemble } from '../assembled-gateway.ts'

export interface CountedUpstream {
  readonly window: number
  readonly counter?: Counter
}

/** Counts this many tokens, at once or later; `asked` counts how often. `most`: the upper bound that it knows without a count. */
export function aCounter(
  tokens: number,
  later = false,
  most?: number,
): Counter & { asked: number } {
  const counter = {
    by: 'test',
    asked: 0,
    ...(most !== undefined && { most: () => most }),
    count() {
      counter.asked++
      const count = { tokens, exact: true }
      return later ? Promise.resolve(count) : count
    },
  }
  return counter
}

const BUDGET = { tenant: 'acme', tokens_per_day: 100_000 }

interface Terms {
  readonly budgeted?: boolean
  readonly downgrade?: string
  /** Tokens of a day; if given, the tenant has a budget. */
  readonly cap?: number
  readonly perMinute?: number
  readonly written?: number
}

/** Upstreams by route; the tenant has a budget where `downgrade`, `cap` or `budgeted` says so. */
export function aCountedGateway(
  routes: Readonly<Record<string, readonly CountedUpstream[]>>,
  { cap, budgeted = cap !== undefined, downgrade, perMinute, written }: Terms = {},
) {
  const named = Object.entries(routes).map(([name, upstreams]) => ({
    name,
    upstreams: upstreams.map(({ window, counter }, index) => ({
      counter,
      section: {
        name: `${name}-${index}`,
        provider: 'openai',
        endpoint: 'http://127.0.0.1:1',
        model: 'm',
        context_window: window,
      },
    })),
  }))
  const budget = downgrade && { on_exceeded: 'downgrade', downgrade_route: downgrade }
  const { gateway } = assemble({
    upstreams: named.flatMap(({ upstreams }) => upstreams.map(({ section }) => section)),
    routes: named.map(({ name, upstreams }) => ({
      name,
      strategy: 'round_robin',
      upstreams: upstreams.map(({ section }) => section.name),
      ...(written !== undefined && { max_tokens_default: written }),
    })),
    ...(perMinute !== undefined && { rate_limits: { default: { tokens_per_minute: perMinute } } }),
    ...((budgeted || downgrade !== undefined) && {
      budgets: [{ ...BUDGET, ...(cap !== undefined && { tokens_per_day: cap }), ...budget }],
    }),
  })
  for (const { name, upstreams } of named) {
    const targets = gateway.active.lanes.get(name)?.targets ?? []
    for (const [index, { counter }] of upstreams.entries()) {
      if (counter !== undefined)
        Object.defineProperty(targets[index], 'counter', { value: counter })
    }
  }
  const { snapshot } = gateway.active
  let calls = 0
  return {
    gateway,
    admit(members: Readonly<Record<string, unknown>> = {}) {
      const route = snapshot.routes.get('chat') ?? assert.fail('There is no route "chat".')
      const rules = snapshot.limits.rules.of('acme')
      // Authentication reads the other members of a key.
      const key = { record: { id: 'key' } }
      const caller = { tenant: 'acme', key } as Parameters<typeof admit>[0]['caller']
      const call = { id: `r-${++calls}`, receivedAt: gateway.clock.now() }
      const request = aRequest(members)
      return admit({ call, request, caller, route, rules }, gateway.active, gateway)
    },
  }
}
