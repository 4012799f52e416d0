/** Upstreams as all pods together see them, and their endpoints. */

import { h } from '../element.js'
import { counted, number, percent, seconds } from '../format.js'
import { quantile } from '../rates.js'
import { moment, section, state, table } from '../table.js'

/** `{name, provider, pods}`: the report of each pod. */
export function gathered({ pods }) {
  const found = new Map()
  for (const { name: pod, status } of pods) {
    for (const upstream of status?.upstreams ?? []) {
      const one = found.get(upstream.name) ?? { ...upstream, pods: [] }
      found.set(upstream.name, one)
      one.pods.push({ pod, ...upstream })
    }
  }
  return [...found.values()]
}

export function upstreamsTables(upstreams, context) {
  const endpoints = upstreams.flatMap(({ pods }) =>
    pods.flatMap(({ endpoints: all = [], ...upstream }) =>
      all.map((endpoint) => endpointRow(endpoint, upstream, context)),
    ),
  )
  const shares = upstreams.flatMap(({ pods }) =>
    pods.flatMap(({ fairness, ...upstream }) =>
      (fairness?.tenants ?? []).map((tenant) => shareRow(tenant, upstream, context)),
    ),
  )
  return [
    section(
      'Upstreams',
      table(
        counted(upstreams.length, 'upstream'),
        [
          'Upstream',
          'State',
          'Health',
          'Breaker',
          '>In flight',
          '>Queue',
          '>Attempts/s',
          '>Success',
          '>First token p50, p95',
          '>Tokens/s',
          'Last error',
          'Used by',
        ],
        upstreams.map((upstream) => upstreamRow(upstream, context)),
        'No upstream is like this.',
      ),
    ),
    endpoints.length > 0 &&
      section(
        'Endpoints',
        table(
          `${counted(endpoints.length, 'endpoint')} of upstreams that have several`,
          [
            'Upstream',
            'Endpoint',
            'State',
            '>In flight',
            '>Queue',
            ...(context.pods > 1 ? ['Pod'] : []),
          ],
          endpoints,
        ),
      ),
    shares.length > 0 &&
      section(
        'Shares',
        table(
          `${counted(shares.length, 'tenant')} of upstreams with fairness: shares of the last ten seconds`,
          [
            'Upstream',
            'Tenant',
            '>Waiting',
            '>Running',
            '>Tokens/s',
            '>Share',
            '>Entitled',
            ...(context.pods > 1 ? ['Pod'] : []),
          ],
          shares,
        ),
      ),
  ]
}

function upstreamRow({ name, provider, pods }, { rates, traces, usersOf }) {
  const rate = rates.upstreams.get(name)
  const p95 = rate && quantile(0.95, rate)
  const queues = pods.map(({ queue }) => queue).filter((queue) => typeof queue === 'number')
  return {
    key: name,
    cells: [
      [name, h('br'), h('span', { class: 'quiet' }, provider)],
      said(pods, ({ eligible }) => (eligible ? 'eligible' : 'skipped'), eligibleState),
      said(pods, ({ health }) => health, healthState),
      [
        said(pods, ({ breaker }) => breaker, breakerState),
        h('div', { class: 'quiet' }, breakerWords(pods)),
      ],
      number(pods.reduce((sum, { in_flight }) => sum + in_flight, 0)),
      // Each pod reads the same queue of the server.
      queues.length === 0 ? '–' : number(Math.max(...queues)),
      number(rate?.requests),
      !rate || rate.requests === 0 ? '–' : percent(1 - rate.errors / rate.requests),
      p95 === undefined ? '–' : `${seconds(quantile(0.5, rate))}, ${seconds(p95)}`,
      number(rate?.tokens),
      lastError(name, traces),
      usersOf(name).join(', ') || '–',
    ],
  }
}

/** The answer of all pods, or each answer with the number of pods that gave it. */
function said(pods, of, shown) {
  const counts = new Map()
  for (const pod of pods) counts.set(of(pod), (counts.get(of(pod)) ?? 0) + 1)
  if (counts.size === 1) return shown([...counts.keys()][0])
  return [...counts].map(([value, count]) =>
    h('div', null, shown(value), ` on ${count} of ${pods.length} pods`),
  )
}

function breakerWords(pods) {
  const { breaker_seconds_left: left, breaker_reason: reason } =
    pods.find(({ breaker }) => breaker !== 'closed') ?? {}
  return [left !== undefined && `${left} s more`, reason].filter(Boolean).join(', ')
}

/** The newest attempt that failed. */
function lastError(name, traces) {
  let last
  for (const { time, attempts, request_id } of traces)
    for (const one of attempts)
      if (one.upstream === name && one.reason !== undefined && time > (last?.time ?? ''))
        last = { time, request_id, ...one }
  if (last === undefined) return undefined
  const words = `${last.outcome}${last.status === undefined ? '' : ` ${last.status}`}: ${last.reason}`
  return [
    h('a', { href: `#/requests/one/${encodeURIComponent(last.request_id)}` }, words),
    ' ',
    moment(last.time),
  ]
}

function endpointRow({ address, state: is, in_flight, queue }, { name, pod }, { pods }) {
  const kind = is === 'ready' ? 'good' : is === 'draining' ? 'idle' : 'bad'
  return {
    key: `${name} ${address} ${pod}`,
    cells: [
      name,
      h('code', null, address),
      state(kind, is),
      number(in_flight),
      queue === undefined || queue === null ? '–' : number(queue),
      ...(pods > 1 ? [pod] : []),
    ],
  }
}

function shareRow(
  { tenant, waiting, running, tokens_per_second, share, entitled },
  { name, pod },
  { pods },
) {
  return {
    key: `${name} ${tenant} ${pod}`,
    cells: [
      name,
      tenant,
      number(waiting),
      number(running),
      number(tokens_per_second),
      percent(share),
      percent(entitled),
      ...(pods > 1 ? [pod] : []),
    ],
  }
}

function eligibleState(words) {
  return state(words === 'eligible' ? 'good' : 'bad', words)
}

function healthState(health) {
  if (health === 'healthy') return state('good', health)
  return state(health === 'unhealthy' ? 'bad' : 'idle', health)
}

export function breakerState(breaker) {
  return state(breaker === 'closed' ? 'good' : breaker === 'open' ? 'bad' : 'warn', breaker)
}
