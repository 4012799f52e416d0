/** Configuration: what each pod enforces, the result of its last reload, and the document with its secrets masked. */
import { bodies, faults } from '../answers.js'
import { isAway, isBad } from '../attention.js'
import { h } from '../element.js'
import { filter, moment, section, state, table, troubles } from '../table.js'
import { servicesOf } from './services.js'

const LINES_SHOWN = 2000

export function configuration({ sample, ask, cluster, text, filtered }) {
  const documents = ask('/config', 10_000)
  const [document] = bodies(documents)
  return [
    section('Enforced by each pod', podsTable(sample, cluster?.body), refusals(sample)),
    cluster !== undefined && section('The resource in the cluster', resourceOf(cluster)),
    servicesOf(sample),
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

/** Pods that only the operator reports have rows too. */
function podsTable({ pods }, resource) {
  const hashes = new Map()
  for (const { status } of pods) {
    const hash = status?.config.hash
    if (hash !== undefined) hashes.set(hash, (hashes.get(hash) ?? 0) + 1)
  }
  const usual = [...hashes].toSorted((one, other) => other[1] - one[1])[0]?.[0]
  const reported = new Map((resource?.status?.pods ?? []).map((pod) => [pod.name, pod]))
  const names = new Set(pods.map(({ name }) => name))
  const others = [...reported.values()].filter(({ name }) => !names.has(name))
  const all = [...pods, ...others.map(({ name }) => ({ name, error: 'not asked yet' }))]
  return table(
    hashes.size > 1
      ? `${hashes.size} different configurations`
      : `${pods.length} ${pods.length === 1 ? 'process' : 'with the same configuration'}`,
    [
      'Pod',
      'State',
      ...(resource === undefined ? [] : ['Generation', 'Operator says']),
      'Version',
      'Configuration',
      '>Routes',
      '>Keys',
      'Last reload',
      'Store',
      'Listens at',
    ],
    all.map((pod) => podRow(pod, usual, resource, reported.get(pod.name))),
  )
}

function podRow({ name, status, error }, usual, resource, reported) {
  const operator = resource === undefined ? [] : reportedCells(reported, resource)
  if (status === undefined)
    return {
      key: name,
      cells: [name, state('bad', error ?? 'no answer'), ...operator, ...Array(7).fill('–')],
    }
  const { config, store, listeners, version } = status
  const { result, at } = config.last_reload
  const cells = [
    name,
    state(status.state === 'serving' ? 'good' : 'warn', status.state),
    ...operator,
    version,
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
        h('div', { class: 'address' }, address),
      ),
  ]
  return { key: name, cells }
}

function reportedCells(reported, { metadata }) {
  if (reported === undefined) return [undefined, state('idle', 'nothing yet')]
  const { generation, state: is = 'Pending', error, keysSequence } = reported
  const kind = is === 'Programmed' ? 'good' : is === 'Pending' ? 'warn' : 'bad'
  const isNewest = generation === metadata.generation
  return [
    generation === undefined
      ? undefined
      : state(
          isNewest ? 'good' : 'warn',
          `${generation}${isNewest ? '' : ` of ${metadata.generation}`}`,
        ),
    [
      state(kind, is),
      keysSequence !== undefined && h('div', { class: 'quiet' }, `keys ${keysSequence}`),
      error !== undefined && h('div', null, error),
    ],
  ]
}

function refusals({ pods }) {
  return pods.flatMap(({ name, status }) =>
    (status?.config.last_reload.errors ?? []).map((error) =>
      h('p', { class: 'card' }, state('bad', `${name}: ${error}`)),
    ),
  )
}

/** The conditions of the resource, and the mistakes of its newest generation. */
function resourceOf(answer) {
  if (answer.status !== 200) return troubles(faults([answer]))
  const { metadata, status = {} } = answer.body
  const { conditions = [], problems = [], programmedReplicas, replicas } = status
  const { namespace, name, generation } = metadata
  return [
    table(
      `GatewayConfig ${namespace}/${name}, generation ${generation}, enforced by ${programmedReplicas ?? 0} of ${replicas ?? 0} pods`,
      ['Condition', 'Status', 'Since', 'Message'],
      conditions.map(({ type, status: is, reason, message, lastTransitionTime, ...rest }) => [
        type,
        state(
          isBad({ type, status: is, ...rest }) ? 'bad' : is === 'Unknown' ? 'idle' : 'good',
          `${is}, ${reason}`,
        ),
        lastTransitionTime === undefined ? '–' : moment(lastTransitionTime),
        message,
      ]),
      'The operator has not written a status yet.',
    ),
    problems.length > 0 &&
      table(
        'Mistakes in the newest generation',
        ['Field', 'Kind', 'Mistake', 'Instead'],
        problems.map(({ path, severity, message, fix }) => [
          h('code', null, path),
          state(severity === 'error' ? 'bad' : 'warn', severity),
          message,
          fix,
        ]),
      ),
  ]
}

/** As JSON: the lines with the text, or all. */
function linesOf(document, text) {
  const lines = JSON.stringify(document, null, 2).split('\n')
  const found =
    text === '' ? lines : lines.filter((line) => line.toLowerCase().includes(text.toLowerCase()))
  const rest = found.length > LINES_SHOWN ? `\n… and ${found.length - LINES_SHOWN} lines more` : ''
  return found.slice(0, LINES_SHOWN).join('\n') + rest || 'No line has it.'
}
