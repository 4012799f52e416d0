/** Running requests, the last finished ones, and one of them in full. */
import { bodies, faults } from '../answers.js'
import { h } from '../element.js'
import { clockTime, counted, fullTime, milliseconds, number, usdOfNano } from '../format.js'
import { answerState, choices, filter, section, table, troubles } from '../table.js'
import { decision } from './decision.js'

const SHOWN = 100
const RUNNING_SHOWN = 20
const KINDS = ['all', 'errors', 'slow', 'retried']
const SLOW_MS = 10_000

export function requests({ ask, rest, text, filtered }) {
  const [first, id] = rest
  if (first === 'one' && id !== undefined) return one(id, ask)
  const kind = KINDS.includes(first) ? first : 'all'
  const query = text === '' ? '' : `?q=${encodeURIComponent(text)}`
  const answers = ask('/traces?limit=500', 2000)
  const running = ask('/traces?running=true&limit=100', 1000)
  const found = (all, isShown = () => true) =>
    bodies(all)
      .flatMap(({ traces }) => traces)
      .filter((trace) => isShown(trace) && matches(trace, text.toLowerCase()))
  return [
    h(
      'div',
      { class: 'filters' },
      choices(
        'Which requests',
        kind,
        KINDS.map((name) => [name, `#/requests/${name}${query}`]),
      ),
      filter('Tenant, key, route, upstream, status, code or id', text, filtered),
    ),
    troubles(faults(answers)),
    section('Running now', runningTable(found(running))),
    section(
      'Ended',
      endedTable(
        found(answers, (trace) => isKind(trace, kind)),
        answers,
      ),
    ),
  ]
}

function runningTable(traces) {
  const oldest = traces.toSorted((one, other) => one.time.localeCompare(other.time))
  return table(
    `${traces.length} in flight, the oldest first`,
    ['Started', '>For', 'Tenant', 'Route', 'Upstream', '>Attempts', '>First token', 'Request'],
    oldest
      .slice(0, RUNNING_SHOWN)
      .map((trace) => [
        time(trace),
        milliseconds(trace.duration_ms),
        trace.tenant,
        trace.route === 'none' ? trace.model : trace.route,
        trace.upstream,
        number(trace.attempts.length),
        milliseconds(trace.ttft_ms),
        linkTo(trace),
      ]),
    'No request runs at this moment.',
  )
}

function endedTable(traces, answers) {
  const newest = traces.toSorted((one, other) => other.time.localeCompare(one.time))
  return table(
    `${Math.min(traces.length, SHOWN)} of ${counted(traces.length, 'request')} that ended, newest first`,
    [
      'Time',
      'Answer',
      'Tenant',
      'Key',
      'Route',
      'Upstream',
      '>First token',
      '>Duration',
      '>Tokens in, out',
      '>Cost',
      'Request',
    ],
    newest.slice(0, SHOWN).map((trace) => ({
      key: trace.request_id,
      cells: [
        time(trace),
        answerState(trace),
        trace.tenant,
        trace.key,
        trace.route,
        trace.upstream,
        milliseconds(trace.ttft_ms),
        milliseconds(trace.duration_ms),
        trace.prompt_tokens === undefined
          ? '–'
          : `${number(trace.prompt_tokens)}, ${number(trace.completion_tokens ?? 0)}`,
        costOf(trace),
        linkTo(trace),
      ],
    })),
    answers === undefined ? 'Asking …' : 'No request like this is kept.',
  )
}

function time(trace) {
  return h('time', { datetime: trace.time, title: fullTime(trace.time) }, clockTime(trace.time))
}

function linkTo({ request_id }) {
  const href = `#/requests/one/${encodeURIComponent(request_id)}`
  return h('a', { href, class: 'id' }, request_id)
}

function costOf({ attempts }) {
  const used = attempts.filter(({ usage }) => usage !== undefined)
  if (used.length === 0) return '–'
  return usdOfNano(used.reduce((sum, { usage }) => sum + usage.cost_nano_usd, 0))
}

function one(id, ask) {
  const answers = ask(`/traces/${encodeURIComponent(id)}`, 2000)
  const found = (answers ?? []).find(({ status }) => status === 200)
  const back = h('a', { href: '#/requests' }, 'All requests')
  if (found !== undefined) {
    const title = `Request ${id}`
    return [
      h('p', { class: 'filters' }, back, copyLink()),
      section(title, decision(found.body, found.name)),
    ]
  }
  return [
    h('p', null, back),
    answers === undefined ? h('p', { class: 'quiet' }, 'Asking …') : troubles(faults(answers)),
  ]
}

/** The address has no token: opening it needs the right to read. */
function copyLink() {
  const copy = ({ target }) => {
    const say = (words) => {
      target.textContent = words
    }
    navigator.clipboard.writeText(location.href).then(
      () => say('Link copied'),
      () => say('Copy it from the address bar'),
    )
  }
  return h('button', { type: 'button', onclick: copy, 'data-key': location.hash }, 'Copy link')
}

function isKind({ status, attempts, duration_ms }, kind) {
  if (kind === 'errors') return status >= 400
  if (kind === 'slow') return duration_ms >= SLOW_MS
  return kind !== 'retried' || attempts.length > 1
}

function matches(trace, text) {
  const { tenant, key, route, upstream, status, code, request_id, trace_id, model, tags } = trace
  const all = [tenant, key, route, upstream, status, code, request_id, trace_id, model, tags]
  return [...all, ...trace.attempts.map((one) => one.upstream)].some((word) =>
    String(word ?? '')
      .toLowerCase()
      .includes(text),
  )
}
