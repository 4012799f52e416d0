/** The playground: one request with a typed key to a gateway of this machine, its answer, and its trace. */
import { bodies } from '../answers.js'
import { copied, quoted } from '../commands.js'
import { h } from '../element.js'
import { milliseconds } from '../format.js'
import { Play } from '../play.js'
import { section, state, table } from '../table.js'
import { decision } from './decision.js'

const ROUTES = 'playground-routes'

/** Kept while the page is open, in its memory alone. */
const typed = {
  model: undefined,
  key: '',
  system: '',
  message: 'Hello there',
  limit: '',
  stream: true,
}
let play

/** `gw console` names the address of a gateway that runs on its own, on the same machine. */
export function isPlayable(sample) {
  return podOf(sample) !== undefined
}

function podOf(sample) {
  return sample?.pods.find(({ sendsTo }) => sendsTo !== undefined)
}

export function playground({ sample, ask }) {
  const pod = podOf(sample)
  const models = bodies(ask('/models', 10_000))[0]?.models ?? []
  typed.model ??= models.find(({ kind }) => kind === 'route')?.name
  return [
    section(
      'Request',
      form(pod, models),
      copied('The same in a shell, with the key in GW_KEY', curlOf(pod)),
    ),
    play && section('Answer', answerOf(play)),
    play?.requestId && play.state !== 'running' && section('Trace', traceOf(play, ask)),
  ]
}

function redraw() {
  dispatchEvent(new Event('opened'))
}

function form(pod, models) {
  const send = (event) => {
    event.preventDefault()
    play?.stop()
    play = new Play(pod, { key: typed.key.trim(), body: bodyOf() }, redraw)
    redraw()
  }
  const isRunning = play?.state === 'running'
  const names = models.map(({ name }) => name).filter((name) => !name.includes('*'))
  return h(
    'form',
    { class: 'card playground', 'data-key': 'playground', onsubmit: send },
    h(
      'p',
      { class: 'quiet' },
      `Sent to ${pod.sendsTo} as a client sends it: it counts in limits and budgets, and costs what it costs.`,
    ),
    field('Route, alias or model', 'model', { required: true, list: ROUTES }),
    h(
      'datalist',
      { id: ROUTES },
      names.map((value) => h('option', { value })),
    ),
    field('Key of a client', 'key', { type: 'password', placeholder: 'gw_…' }),
    h(
      'p',
      { class: 'quiet' },
      'The key stays in the memory of this tab until you close it; the page does not store it.',
    ),
    area('System prompt', 'system', 2),
    area('Message', 'message', 4),
    field('At most this many tokens', 'limit', {
      inputmode: 'numeric',
      pattern: '[1-9][0-9]{0,6}',
      placeholder: 'no limit of the request',
    }),
    h(
      'label',
      null,
      h('input', {
        type: 'checkbox',
        checked: typed.stream,
        onchange: ({ target }) => changed('stream', target.checked),
      }),
      ' As a stream',
    ),
    h(
      'p',
      null,
      h('button', null, 'Send'),
      ' ',
      isRunning &&
        h('button', { type: 'button', 'data-key': 'stop', onclick: () => play.stop() }, 'Stop'),
    ),
  )
}

function changed(name, value) {
  typed[name] = value
  redraw()
}

const FIELD = { autocomplete: 'off', spellcheck: 'false' }

function field(label, name, attributes) {
  const oninput = ({ target }) => changed(name, target.value)
  const value = typed[name] ?? ''
  return h('label', null, label, h('input', { ...FIELD, ...attributes, value, oninput }))
}

function area(label, name, rows) {
  const oninput = ({ target }) => changed(name, target.value)
  return h('label', null, label, h('textarea', { ...FIELD, rows, value: typed[name], oninput }))
}

function bodyOf() {
  const { model = '', system, message, limit, stream } = typed
  return {
    model,
    messages: [
      ...(system === '' ? [] : [{ role: 'system', content: system }]),
      { role: 'user', content: message },
    ],
    ...(limit !== '' && { max_tokens: Number(limit) }),
    ...(stream && { stream }),
  }
}

function curlOf({ sendsTo }) {
  return `curl -i${typed.stream ? ' --no-buffer' : ''} ${sendsTo}/v1/chat/completions \\
  -H "Authorization: Bearer $GW_KEY" -H 'Content-Type: application/json' \\
  -d ${quoted(JSON.stringify(bodyOf()))}`
}

function answerOf({ state: now, status, text, raw, fault, firstMs, ms, headers }) {
  const times = [
    firstMs !== undefined && `first token after ${milliseconds(firstMs)}`,
    ms !== undefined && `whole after ${milliseconds(ms)}`,
  ].filter(Boolean)
  return [
    h(
      'p',
      { role: 'status' },
      verdict(now, status, fault),
      times.length > 0 && ` · ${times.join(', ')}`,
    ),
    fault && h('p', { class: 'card' }, fault),
    text !== '' &&
      h('pre', { class: 'card verdict', tabindex: '0', 'aria-label': 'Text of the answer' }, text),
    headers.length > 0 && table('Headers of the answer', ['Header', 'Value'], headers.toSorted()),
    raw !== '' &&
      h(
        'details',
        { class: 'card' },
        h('summary', null, 'The answer as it came'),
        h('pre', { tabindex: '0', class: 'verdict' }, raw),
      ),
  ]
}

function verdict(now, status, fault) {
  if (now === 'stopped') return state('idle', 'stopped')
  if (now === 'running')
    return state('idle', status === undefined ? 'waiting' : `${status}, arriving`)
  return state(status === 200 && !fault ? 'good' : 'bad', status ?? 'no answer')
}

/** The gateway keeps it a moment after the answer has ended. */
function traceOf({ requestId, pod }, ask) {
  const [trace] = bodies(ask(`/traces/${encodeURIComponent(requestId)}`, 1000))
  if (trace === undefined) return h('p', { class: 'quiet' }, 'Asking …')
  return [
    decision(trace, pod.name),
    h(
      'p',
      null,
      h(
        'a',
        { href: `#/requests/one/${encodeURIComponent(requestId)}` },
        'This request in Requests',
      ),
    ),
  ]
}
