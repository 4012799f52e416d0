/** Configuration: what each pod enforces, how its last reload went, and the document with its secrets masked. */
import { bodies, faults } from '../answers.js'
import { isAway } from '../attention.js'
import { h } from '../element.js'
import { filter, moment, section, state, table, troubles } from '../table.js'
import { breakerState } from './routing.js'

const LINES_SHOWN = 2000

export function configuration({ sample, ask, text, filtered }) {
  const documents = ask('/config', 10_000)
  const [document] = bodies(documents)
  const hashes = new Map()
  for (const { status } of sample.pods) {
    const hash = status?.config.hash
    if (hash !== undefined) hashes.set(hash, (hashes.get(hash) ?? 0) + 1)
  }
  const usual = [...hashes].toSorted((one, other) => other[1] - one[1])[0]?.[0]
  const beside = sample.pods.flatMap((pod) => [
    ...(pod.status?.guardrails ?? []).map((one) => besideRow('guardrail', pod, one)),
    ...(pod.status?.vector_stores ?? []).map((one) => besideRow('vector store', pod, one)),
  ])
  return [
    section(
      'Enforced by each pod',
      table(
        hashes.size > 1
          ? `${hashes.size} different configurations`
          : `${sample.pods.length} with the same configuration`,
        [
          'Pod',
          'State',
          'Version',
          'Configuration',
          '>Routes',
          '>Keys',
          'Last reload',
          'Store',
          'Listens at',
        ],
        sample.pods.map((pod) => podRow(pod, usual)),
      ),
      sample.pods.flatMap(({ name, status }) =>
        (status?.config.last_reload.errors ?? []).map((error) =>
          h('p', { class: 'card' }, state('bad', `${name}: ${error}`)),
        ),
      ),
    ),
    beside.length > 0 &&
      section(
        'Beside the models',
        table(
          'Services that are asked beside the models',
          ['Name', 'Kind', 'Pod', 'Address', 'Breaker'],
          beside,
        ),
      ),
    section(
      'The document',
      troubles(faults(documents)),
      filter('Lines with', text, filtered),
      h(
        'pre',
        { class: 'card', tabindex: '0', 'aria-label': 'Configuration', role: 'region' },
        document === undefined ? 'Asking …' : linesOf(document, text),
      ),
    ),
  ]
}

function podRow({ name, status, error }, usual) {
  if (status === undefined)
    return [name, state('bad', error ?? 'no answer'), '–', '–', '–', '–', '–', '–', '–']
  const { config, store, listeners } = status
  const { result, at } = config.last_reload
  return [
    name,
    state(status.state === 'serving' ? 'good' : 'warn', status.state),
    status.version,
    state(
      config.hash === usual ? 'good' : 'warn',
      h('code', { title: config.hash }, config.hash.slice(0, 12)),
    ),
    config.routes,
    config.keys,
    [
      state(result === 'success' ? 'good' : 'bad', result === 'success' ? 'taken' : 'refused'),
      ' ',
      moment(at),
    ],
    state(isAway(store) ? 'bad' : 'good', store.backend),
    listeners &&
      [listeners.clients, listeners.metrics, ...listeners.admin].map((address) =>
        h('div', null, address),
      ),
  ]
}

function besideRow(kind, pod, { name, endpoint, breaker }) {
  return [name, kind, pod.name, endpoint, breakerState(breaker)]
}

/** As JSON: the lines with the text, or all. */
function linesOf(document, text) {
  const lines = JSON.stringify(document, null, 2).split('\n')
  const found =
    text === '' ? lines : lines.filter((line) => line.toLowerCase().includes(text.toLowerCase()))
  const rest = found.length > LINES_SHOWN ? `\n… and ${found.length - LINES_SHOWN} lines more` : ''
  return found.slice(0, LINES_SHOWN).join('\n') + rest || 'No line has it.'
}
