/** Rollouts of new upstreams, and shadows that answer copies of requests. */
import { bodies } from '../answers.js'
import { commands, quoted } from '../commands.js'
import { h } from '../element.js'
import { counted, milliseconds, number } from '../format.js'
import { moment, section, state, table } from '../table.js'

const KINDS = { running: 'idle', paused: 'warn', back: 'bad', aborted: 'warn', complete: 'good' }

/** Pods without a shared store may be at different steps: each state of a route is there once. */
export function rolloutsOf(answers) {
  const all = new Map()
  for (const { rollouts } of bodies(answers))
    for (const one of rollouts) all.set(`${one.route} ${one.phase} ${one.share}`, one)
  return [...all.values()]
}

/** Nothing without a rollout or a shadow of a route that is shown. */
export function rolloutTables(asked, isShown) {
  const rollouts = rolloutsOf(asked.rollouts).filter(isShown)
  const shadows = bodies(asked.shadows)
    .flatMap((body) => body.shadows)
    .filter(isShown)
  return [
    rollouts.length > 0 &&
      section(
        'Rollouts',
        table(
          counted(rollouts.length, 'rollout'),
          ['Route', 'To', 'State', '>Share', '>Step', '>Requests', 'Compared', 'Since', 'Reason'],
          rollouts.map(rolloutRow),
        ),
        commands('To steer a rollout', steering(rollouts[0].route)),
      ),
    shadows.length > 0 &&
      section(
        'Shadows',
        table(
          `${counted(shadows.length, 'shadow')}, as each pod compares them`,
          [
            ...['Route', 'Shadow', 'Copies', '>Failed, route', '>Failed, shadow'],
            ...['>First token p95, route', '>First token p95, shadow', 'Differences'],
          ],
          shadows.map(shadowRow),
        ),
      ),
  ]
}

function rolloutRow({ route, to, phase, share, step, steps, compared, ...one }) {
  const { requests, requests_needed: needed, changed_at: since, reason } = one
  return {
    key: `${route} ${phase} ${share}`,
    cells: [
      route,
      to,
      state(KINDS[phase] ?? 'idle', phase),
      `${number(share)} %`,
      `${step} of ${steps.length}`,
      `${number(requests)} of ${number(needed)}`,
      compared.length === 0
        ? undefined
        : h(
            'ul',
            { class: 'tree' },
            compared.map(({ standing, text }) => h('li', null, `${standing}: ${text}`)),
          ),
      moment(since),
      reason,
    ],
  }
}

/** The page only reads: these are for a terminal. */
function steering(name) {
  const route = quoted(name)
  return [
    ['Hold the present share', `gw rollout pause ${route}`],
    ['Step on after a pause, or begin again', `gw rollout resume ${route}`],
    ['Give all requests to the new upstream', `gw rollout promote ${route}`],
    ['Give the new upstream no more requests', `gw rollout abort ${route}`],
  ]
}

function shadowRow({ route, upstream, percent: share, copies, differences, real, shadow }) {
  return [
    route,
    [upstream, h('br'), h('span', { class: 'quiet' }, `${number(share)} % of requests`)],
    countsOf(copies),
    failedOf(real),
    failedOf(shadow),
    milliseconds(real.first_p95_ms),
    milliseconds(shadow.first_p95_ms),
    countsOf(differences),
  ]
}

function failedOf({ answers, failed }) {
  return `${number(failed)} of ${number(answers)}`
}

function countsOf(counts) {
  const words = Object.entries(counts).map(([name, count]) => `${name} ${number(count)}`)
  return words.join(', ') || '–'
}
