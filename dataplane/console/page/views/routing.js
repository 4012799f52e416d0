/** Routes and upstreams: where requests go, the state of each upstream, and why one is skipped. */
import { bodies, faults } from '../answers.js'
import { commands, quoted } from '../commands.js'
import { h } from '../element.js'
import { counted, milliseconds, number, percent, seconds } from '../format.js'
import { quantile } from '../rates.js'
import { choices, filter, section, state, table, troubles } from '../table.js'
import { map } from './map.js'
import { rolloutTables } from './rollouts.js'
import { gathered, upstreamsTables } from './upstreams.js'

export function routing({ sample, rates, ask, rest, text, filtered }) {
  const models = ask('/models', 5000)
  const traces = bodies(ask('/traces?limit=500', 5000)).flatMap((body) => body.traces)
  const names = bodies(models)[0]?.models ?? []
  const routes = names.filter(({ kind }) => kind === 'route')
  const upstreams = gathered(sample)
  const words = text.toLowerCase()
  const has = (...all) => all.some((one) => one.toLowerCase().includes(words))
  const shownRoutes = routes.filter((route) =>
    has(route.name, ...route.upstreams.map(({ name }) => name)),
  )
  const shown = upstreams.filter(({ name }) => has(name, ...usersOf(name, routes)))
  return [
    filter('Filter by upstream or route', text, filtered),
    names.length > 0 &&
      section('Now', map({ routes: shownRoutes, upstreams: shown, traces, rates })),
    upstreamsTables(shown, {
      pods: sample.pods.length,
      rates,
      traces,
      usersOf: (name) => usersOf(name, routes),
    }),
    section(
      'Routes',
      troubles(faults(models)),
      table(
        counted(shownRoutes.length, 'route'),
        [
          'Route',
          'Strategy',
          'Candidates in order',
          '>Requests/s',
          '>Errors',
          '>First token p95',
          'Objective',
          '>In flight',
          'Overflow, since the start',
          'Aliases',
        ],
        shownRoutes.map((route) => routeRow(route, names, sample, rates, upstreams)),
        models === undefined ? 'Asking …' : 'No route is like this.',
      ),
    ),
    rolloutTables(
      { rollouts: ask('/rollouts', 3000), shadows: ask('/shadows', 5000) },
      ({ route }) => shownRoutes.some(({ name }) => name === route),
    ),
    section('The next request', explained(routes, rest[0], ask)),
    upstreams.length > 0 && commands('To drain or test an upstream', drains(upstreams[0].name)),
  ]
}

/** The page only reads: these are for a terminal. */
function drains(name) {
  const upstream = quoted(name)
  return [
    [
      'Give an upstream no new requests for half an hour',
      `gw upstream drain ${upstream} --for 30m --file gw.yaml`,
    ],
    ['The same in a cluster', `gw upstream drain ${upstream} --for 30m`],
    ['Take it back earlier', `gw upstream resume ${upstream} --file gw.yaml`],
    ['Ask it for a short answer, past breaker and limits', `gw upstream test ${upstream}`],
  ]
}

function usersOf(name, routes) {
  return routes
    .filter((route) => route.upstreams.some((one) => one.name === name))
    .map((route) => route.name)
}

function routeRow({ name, strategy, upstreams: candidates }, names, sample, rates, upstreams) {
  const rate = rates.routes.get(name)
  const objective = sample.pods
    .flatMap((pod) => pod.status?.objectives ?? [])
    .find(({ route }) => route === name)
  const others = names.filter(({ kind, route }) => kind !== 'route' && route === name)
  const overflow = Object.entries(rate?.reasons ?? {})
    .filter(([, count]) => count > 0)
    .map(([reason, count]) => `${reason} ${count}`)
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
  const { pods = [] } = upstreams.find((one) => one.name === name) ?? {}
  const why = pods.some(({ breaker }) => breaker === 'open')
    ? 'breaker open'
    : pods.some(({ health }) => health === 'unhealthy')
      ? 'unhealthy'
      : 'full or cooling'
  return state('bad', `${name}: ${why}`)
}

function objectiveState({ p95_ms, target_ms, breached }) {
  const words = `${milliseconds(p95_ms ?? undefined)} of ${milliseconds(target_ms)}`
  return breached ? state('bad', `missed: ${words}`) : state('good', words)
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
          h('pre', { class: 'verdict', tabindex: '0' }, body.text),
        ),
      ),
  ]
}

function verdictState({ status, code, message, upstreams = [] }) {
  if (status === 200) return state('good', `200 from ${upstreams.join(' or ') || 'an upstream'}`)
  return state('bad', `${status} ${code ?? ''}: ${message ?? ''}`)
}
