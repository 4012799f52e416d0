/** The red list: every current problem for a person on call, each with its start and a link to its view. */
import { relative } from './format.js'

/** `changes` are newest first. Each item is `{kind, words, since, href}`, the worst first. */
export function attention({ pods }, { changes = [], budgets = [], rollouts = [], cluster }) {
  const items = [
    ...ofCluster(cluster),
    ...pods.flatMap((pod) => ofPod(pod, pods, changes)),
    ...budgets.flatMap((budget) => ofBudget(budget, changes)),
    ...rollouts.flatMap(ofRollout),
  ]
  return items.toSorted((one, other) => RANK[one.kind] - RANK[other.kind])
}

const RANK = { bad: 0, warn: 1 }
/** True is good for all conditions of a gateway except these. */
const BAD_IF_TRUE = ['Degraded', 'Stalled']
/** Other conditions repeat the same in more words, or these only report progress. */
const QUIET = ['Ready', 'Reconciling']

export function isBad({ type, status }) {
  return status === (BAD_IF_TRUE.includes(type) ? 'True' : 'False')
}

/** The operator reports for pods that cannot report it themselves. */
function ofCluster(cluster) {
  const { conditions = [] } = cluster?.status ?? {}
  return conditions
    .filter((condition) => isBad(condition) && !QUIET.includes(condition.type))
    .map(({ type, status, reason, message, lastTransitionTime }) =>
      item(
        'bad',
        `${type} is ${status}, ${reason}: ${message}`,
        lastTransitionTime,
        '#/configuration',
      ),
    )
}

function ofPod(pod, pods, changes) {
  const { name, status, error } = pod
  const of = pods.length > 1 ? ` (pod ${name})` : ''
  const found = []
  const say = (kind, words, since, href = '#/configuration') =>
    found.push(item(kind, words + of, since, href))
  if (status === undefined)
    return [item('bad', `Pod ${name} does not answer: ${error}`, undefined, '#/configuration')]
  for (const upstream of status.upstreams) sayOfUpstream(upstream, say, changes)
  for (const { route, p95_ms, target_ms, breached } of status.objectives) {
    const since = beginning('slo', route, changes)
    const words = `Route ${route} misses its objective: first token p95 ${p95_ms} ms, ${target_ms} ms allowed`
    if (breached) say('warn', words, since, routingOf(route))
  }
  for (const { name: service, breaker } of [...status.guardrails, ...status.vector_stores])
    if (breaker !== 'closed') say('bad', `The breaker of ${service} is ${breaker}`)
  for (const { name: issuer, reason } of status.issuers ?? [])
    if (reason !== undefined) say('bad', `The keys of issuer ${issuer} cannot be read: ${reason}`)
  for (const { route, failure } of status.classifiers)
    if (failure !== undefined) say('warn', `The classifier of route ${route} fails: ${failure}`)
  if (isAway(status.store)) say('bad', 'The shared store is away', status.store.since)
  const { last_reload } = status.config
  if (last_reload.result === 'failure')
    say('bad', 'The last configuration was refused', last_reload.at)
  if (status.state === 'draining') say('warn', `Pod ${name} is about to end`)
  if (pod === pods[0] && new Set(pods.flatMap((each) => each.status?.config.hash ?? [])).size > 1)
    found.push(item('warn', 'Pods enforce different configurations', undefined, '#/configuration'))
  return found
}

function sayOfUpstream(
  { name, health, breaker, credential, breaker_reason, endpoints = [] },
  say,
  changes,
) {
  const href = routingOf(name)
  if (breaker !== 'closed') {
    const why = breaker_reason === undefined ? '' : `: ${breaker_reason}`
    const kind = breaker === 'open' ? 'bad' : 'warn'
    const since = beginning('breaker', name, changes)
    say(kind, `The breaker of upstream ${name} is ${breaker}${why}`, since, href)
  }
  if (health === 'unhealthy')
    say('bad', `Upstream ${name} is unhealthy`, beginning('health', name, changes), href)
  if (credential?.state === 'missing')
    say('bad', `Upstream ${name} has no credential`, beginning('credential', name, changes), href)
  const out = endpoints.filter(({ state }) => state !== 'ready' && state !== 'draining').length
  if (out > 0)
    say('warn', `${out} of ${endpoints.length} endpoints of ${name} are out`, undefined, href)
}

function ofBudget({ scope, holder, tenant, title, share, forecast, resets_at }, changes) {
  const who = `${scope[0].toUpperCase()}${scope.slice(1)} ${holder}`
  const href = `#/tenants/${encodeURIComponent(tenant)}`
  const since = beginning('budget_alert', holder, changes)
  if (share >= 1)
    return [item('bad', `${who}: ${title} used up, resets ${relative(resets_at)}`, since, href)]
  if (!forecast?.isOver) return []
  const when = forecast.words.replace('used up ', '')
  return [item('warn', `${who}: ${title} used up ${when}, at this pace`, undefined, href)]
}

function ofRollout({ route, to, phase, reason, changed_at: since }) {
  if (phase !== 'back') return []
  const words = `The rollout of route ${route} to ${to} went back: ${reason}`
  return [item('bad', words, since, routingOf(route))]
}

function routingOf(name) {
  return `#/routing?q=${encodeURIComponent(name)}`
}

export function isAway(store) {
  return store.state === 'away'
}

/** The newest change of this kind that names it. */
function beginning(event, name, changes) {
  return changes.find((change) => change.event === event && change.message.includes(`"${name}"`))
    ?.time
}

function item(kind, words, since, href) {
  return { kind, words, since, href }
}
