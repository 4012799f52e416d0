/** The last requests as they come, and one of them in full. */
import { bodies, faults } from '../answers.js'
import { h } from '../element.js'
import { clockTime, fullTime, milliseconds, number } from '../format.js'
import { answerState, choices, filter, section, table, troubles } from '../table.js'
import { decision } from './decision.js'

const SHOWN = 100
const KINDS = ['all', 'errors', 'slow', 'retried']
const SLOW_MS = 10_000

export function requests({ sample, ask, rest, text, filtered }) {
  const [first, id] = rest
  if (first === 'one' && id !== undefined) return one(id, ask)
  const kind = KINDS.includes(first) ? first : 'all'
  const answers = ask('/traces?limit=500', 2000)
  const all = bodies(answers)
    .flatMap(({ traces }) => traces)
    .filter((trace) => isKind(trace, kind) && matches(trace, text.toLowerCase()))
    .toSorted((before, after) => after.time.localeCompare(before.time))
  const flying = sample.pods.reduce((sum, { status }) => sum + (status?.requests_in_flight ?? 0), 0)
  return [
    choices(
      'Which requests',
      kind,
      KINDS.map((name) => [name, `#/requests/${name}`]),
    ),
    filter('Tenant, route, upstream, status, code or id', text, filtered),
    troubles(faults(answers)),
    table(
      `${Math.min(all.length, SHOWN)} of ${all.length} requests that ended, newest first; ${flying} in flight`,
      [
        'Time',
        'Answer',
        'Tenant',
        'Route',
        'Upstream',
        '>Attempts',
        '>First token',
        '>Duration',
        '>Tokens in, out',
        'Request',
      ],
      all
        .slice(0, SHOWN)
        .map((trace) => [
          h('time', { datetime: trace.time, title: fullTime(trace.time) }, clockTime(trace.time)),
          answerState(trace),
          trace.tenant,
          trace.route,
          trace.upstream,
          number(trace.attempts.length),
          milliseconds(trace.ttft_ms),
          milliseconds(trace.duration_ms),
          trace.prompt_tokens === undefined
            ? '–'
            : `${number(trace.prompt_tokens)}, ${number(trace.completion_tokens ?? 0)}`,
          h(
            'a',
            { href: `#/requests/one/${encodeURIComponent(trace.request_id)}` },
            trace.request_id,
          ),
        ]),
      'No request like this is kept.',
    ),
  ]
}

function one(id, ask) {
  const answers = ask(`/traces/${encodeURIComponent(id)}`, 5000)
  const found = (answers ?? []).find(({ status }) => status === 200)
  const back = h('p', null, h('a', { href: '#/requests' }, 'All requests'))
  if (found !== undefined) return [back, section(`Request ${id}`, decision(found.body, found.name))]
  return [back, answers === undefined ? h('p', null, 'Asking …') : troubles(faults(answers))]
}

function isKind({ status, attempts, duration_ms }, kind) {
  if (kind === 'errors') return status >= 400
  if (kind === 'slow') return duration_ms >= SLOW_MS
  return kind !== 'retried' || attempts.length > 1
}

function matches(trace, text) {
  const { tenant, route, upstream, status, code, request_id, trace_id, model } = trace
  const words = [tenant, route, upstream, status, code, request_id, trace_id, model]
  return words.some((word) =>
    String(word ?? '')
      .toLowerCase()
      .includes(text),
  )
}
