/** Routes and upstreams: where requests go, how each upstream is, and why one is passed over. */
import { bodies, faults } from '../answers.js'
import { h } from '../element.js'
import { milliseconds, number, percent, seconds } from '../format.js'
import { quantile } from '../rates.js'
import { choices, moment, section, state, table, troubles } from '../table.js'

export function routing({ sample, rates, ask, rest }) {
  const models = ask('/models', 5000)
  const traces = bodies(ask('/traces?limit=500', 5000)).flatMap((body) => body.traces)
  const names = bodies(models)[0]?.models ?? []
  const routes = names.filter(({ kind }) => kind === 'route')
  const upstreams = sample.pods.flatMap((pod) =>
    (pod.status?.upstreams ?? []).map((upstream) => ({ pod: pod.name, ...upstream })),
  )
  return [
    section(
      'Upstreams',
      table(
        `${new Set(upstreams.map(({ name }) => name)).size} upstreams`,
        [
          'Upstream',
          'State',
          'Health',
          'Breaker',
          '>In flight',
          'Queue',
          '>Attempts/s',
          '>Success',
          '>First token p50, p95',
          '>Tokens/s',
          'Last error',
          'Used by',
        ],
        upstreams.map((upstream) => upstreamRow(upstream, sample, rates, traces, routes)),
      ),
    ),
    section(
      'Routes',
      troubles(faults(models)),
      table(
        `${routes.length} routes`,
        [
          'Route',
          'Strategy',
          'Candidates in order',
          '>Requests/s',
          '>Errors',
          '>First token p95',
          'Objective',
          '>In flight',
          'Overflow',
          'Other names',
        ],
        routes.map((route) => routeRow(route, names, sample, rates, upstreams)),
      ),
    ),
    section('The next request', explained(routes, rest[0], ask)),
  ]
}

function upstreamRow(upstream, sample, rates, traces, routes) {
  const { name, pod, eligible, health, breaker, breaker_seconds_left, breaker_reason } = upstream
  const rate = rates.upstreams.get(name)
  const p95 = rate && quantile(0.95, rate)
  const failures = traces.flatMap(({ time, attempts }) =>
    attempts
      .filter((one) => one.upstream === name && one.reason !== undefined)
      .map((one) => ({ time, ...one })),
  )
  const last = failures.toSorted((one, other) => other.time.localeCompare(one.time))[0]
  const users = routes.filter((route) => route.upstreams.some((one) => one.name === name))
  return [
    [
      name,
      h('br'),
      h('span', { class: 'quiet' }, upstream.provider, sample.pods.length > 1 && ` · ${pod}`),
    ],
    eligible ? state('good', 'eligible') : state('bad', 'passed over'),
    healthState(health),
    [
      breakerState(breaker),
      breaker_seconds_left !== undefined && ` ${breaker_seconds_left} s more`,
      breaker_reason !== undefined && h('div', { class: 'quiet' }, breaker_reason),
    ],
    number(upstream.in_flight),
    typeof upstream.queue === 'number' ? number(upstream.queue) : 'not reported',
    number(rate?.requests),
    !rate || rate.requests === 0 ? '–' : percent(1 - rate.errors / rate.requests),
    p95 === undefined ? '–' : `${seconds(quantile(0.5, rate))}, ${seconds(p95)}`,
    number(rate?.tokens),
    last && [
      `${last.outcome}${last.status === undefined ? '' : ` ${last.status}`}: ${last.reason} `,
      moment(last.time),
    ],
    users.map(({ name: route }) => route).join(', ') || '–',
  ]
}

function routeRow({ name, strategy, upstreams: candidates }, names, sample, rates, upstreams) {
  const rate = rates.routes.get(name)
  const objective = sample.pods
    .flatMap((pod) => pod.status?.objectives ?? [])
    .find(({ route }) => route === name)
  const others = names.filter(({ kind, route }) => kind !== 'route' && route === name)
  const overflow = Object.entries(rate?.reasons ?? {}).map(
    ([reason, count]) => `${reason} ${count}`,
  )
  return [
    h('a', { href: `#/routing/${encodeURIComponent(name)}` }, name),
    strategy,
    h(
      'ol',
      { class: 'tree' },
      candidates.map((candidate) => h('li', null, candidateState(candidate, upstreams))),
    ),
    number(rate?.requests),
    !rate || rate.requests === 0 ? '–' : percent(rate.errors / rate.requests),
    rate && seconds(quantile(0.95, rate)),
    objective && objectiveState(objective),
    number(rate?.inFlight),
    overflow.join(', ') || '–',
    others.map((other) => other.name).join(', ') || '–',
  ]
}

function candidateState({ name, eligible }, upstreams) {
  if (eligible) return state('good', name)
  const { health, breaker } = upstreams.find((one) => one.name === name) ?? {}
  const why =
    breaker === 'open' ? 'breaker open' : health === 'unhealthy' ? 'unhealthy' : 'full or cooling'
  return state('bad', `${name}: ${why}`)
}

function objectiveState({ p95_ms, target_ms, breached }) {
  const words = `${milliseconds(p95_ms ?? undefined)} of ${milliseconds(target_ms)}`
  return breached ? state('bad', `missed: ${words}`) : state('good', words)
}

export function healthState(health) {
  if (health === 'healthy') return state('good', health)
  return state(health === 'unhealthy' ? 'bad' : 'idle', health)
}

export function breakerState(breaker) {
  return state(breaker === 'closed' ? 'good' : breaker === 'open' ? 'bad' : 'warn', breaker)
}

/** The verdict on the next request, as `gw explain` prints it. */
function explained(routes, chosen, ask) {
  const links = routes.map(({ name }) => [name, `#/routing/${encodeURIComponent(name)}`])
  const list = choices('Routes', chosen, links)
  if (chosen === undefined) return [list, h('p', { class: 'quiet' }, 'Choose a route.')]
  const answers = ask(`/explain?model=${encodeURIComponent(chosen)}`, 3000)
  return [
    list,
    troubles(faults(answers)),
    (answers ?? [])
      .filter(({ status }) => status === 200)
      .map(({ name, body }) =>
        h(
          'div',
          { class: 'card' },
          h('p', null, verdictState(body.verdict), ` on pod ${name}`),
          h('pre', { tabindex: '0' }, body.text),
        ),
      ),
  ]
}

function verdictState({ status, code, message, upstreams = [] }) {
  if (status === 200) return state('good', `200 from ${upstreams.join(' or ') || 'an upstream'}`)
  return state('bad', `${status} ${code ?? ''}: ${message ?? ''}`)
}
