/** Running requests, the last finished ones, and one of them in full. */
import { bodies, faults } from '../answers.js'
import { wouldFill } from '../commands.js'
import { h } from '../element.js'
import { clockTime, counted, fullTime, milliseconds, number, usdOfNano } from '../format.js'
import { answerState, choices, filter, menu, section, table, troubles } from '../table.js'
import { decision } from './decision.js'

const SHOWN = 100
const RUNNING_SHOWN = 20
const KINDS = ['all', 'errors', 'slow', 'retried']
const SLOW_MS = 10_000

export function requests({ ask, rest, text, filtered, menus, chosen, sample }) {
  const [first, id] = rest
  if (first === 'one' && id !== undefined) return one(id, ask)
  const kind = KINDS.includes(first) ? first : 'all'
  const query = Object.keys(menus).length === 0 ? '' : `?${new URLSearchParams(menus)}`
  const answers = ask('/traces?limit=500', 2000)
  const running = ask('/traces?running=true&limit=100', 1000)
  const found = (all, isShown = () => true) =>
    bodies(all)
      .flatMap(({ traces }) => traces)
      .filter(
        (trace) => isShown(trace) && isChosen(trace, menus) && matches(trace, text.toLowerCase()),
      )
  const whole = bodies(answers).flatMap(({ traces }) => traces)
  const valuesOf = (of) => whole.map(of).filter((value) => value !== undefined)
  return [
    h(
      'div',
      { class: 'filters' },
      choices(
        'Which requests',
        kind,
        KINDS.map((name) => [name, `#/requests/${name}${query}`]),
      ),
      menu(
        'Status',
        menus.status,
        valuesOf(({ status }) => String(status)),
        (value) => chosen('status', value),
      ),
      menu(
        'Tenant',
        menus.tenant,
        valuesOf(({ tenant }) => tenant),
        (value) => chosen('tenant', value),
      ),
      filter('Filter by tenant, key, route, model, upstream, status, code or id', text, filtered),
    ),
    troubles(faults(answers)),
    section('Running now', runningTable(found(running))),
    section(
      'Ended',
      endedTable(
        found(answers, (trace) => isKind(trace, kind)),
        answers,
        whole.length === 0 && wouldFill('A request appears here as it ends', curlOf(sample)),
      ),
    ),
  ]
}

/** Pods have no address that a reader can call; their service has. */
function curlOf({ pods }) {
  const url = pods.length === 1 && pods[0].status?.listeners?.clients
  return `curl ${url || 'http://GATEWAY'}/v1/chat/completions \\
  -H "Authorization: Bearer $GW_KEY" -H 'Content-Type: application/json' \\
  -d '{"model": "ROUTE", "messages": [{"role": "user", "content": "Hello"}]}'`
}

function isChosen({ status, tenant }, menus) {
  if (menus.status !== undefined && String(status) !== menus.status) return false
  return menus.tenant === undefined || tenant === menus.tenant
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

/** The model that answered, and what the client asked for where that is neither this nor the route. */
function modelOf({ attempts, model: asked, route }) {
  const last = attempts.at(-1)
  const model = last?.answer?.model ?? last?.model
  if (asked === undefined || asked === route || asked === model) return model ?? '–'
  return [model, model && h('br'), h('span', { class: 'quiet' }, `asked: ${asked}`)]
}

function endedTable(traces, answers, filler) {
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
      'Model',
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
        modelOf(trace),
        milliseconds(trace.ttft_ms),
        milliseconds(trace.duration_ms),
        trace.prompt_tokens === undefined
          ? '–'
          : `${number(trace.prompt_tokens)}, ${number(trace.completion_tokens ?? 0)}`,
        costOf(trace),
        linkTo(trace),
      ],
    })),
    answers === undefined ? 'Asking …' : ['No request like this is kept.', filler],
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
