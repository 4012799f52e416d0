/** The red list: everything that a person on call should know of now, each with its beginning and the view that shows more. */
import { bodies } from './answers.js'

/** `changes` are newest first. Each item is `{kind, words, since, href}`. */
export function attention({ pods }, changes, standings) {
  return [
    ...pods.flatMap((pod) => ofPod(pod, pods, changes)),
    ...bodies(standings).flatMap(({ tenants }) => tenants.flatMap(ofTenant)),
  ]
}

function ofPod(pod, pods, changes) {
  const { name, status, error } = pod
  const of = pods.length > 1 ? ` (pod ${name})` : ''
  if (status === undefined)
    return [item('bad', `Pod ${name} does not answer: ${error}`, undefined, '#/configuration')]
  const found = status.upstreams.flatMap((upstream) => ofUpstream(upstream, of, changes))
  for (const { route, p95_ms, target_ms, breached } of status.objectives) {
    const since = beginning('slo', route, changes)
    const words = `Route ${route} misses its objective: ${p95_ms} ms, ${target_ms} ms allowed${of}`
    if (breached) found.push(item('bad', words, since, '#/routing'))
  }
  for (const each of [...status.guardrails, ...status.vector_stores]) {
    if (each.breaker !== 'closed')
      found.push(
        item(
          'warn',
          `The breaker of ${each.name} is ${each.breaker}${of}`,
          undefined,
          '#/configuration',
        ),
      )
  }
  if (isAway(status.store))
    found.push(item('bad', `The shared store is away${of}`, status.store.since, '#/configuration'))
  const { last_reload } = status.config
  if (last_reload.result === 'failure')
    found.push(
      item('bad', `The last configuration was refused${of}`, last_reload.at, '#/configuration'),
    )
  if (status.state === 'draining')
    found.push(item('warn', `Pod ${name} is about to end`, undefined, '#/configuration'))
  if (pod === pods[0] && new Set(pods.flatMap((each) => each.status?.config.hash ?? [])).size > 1)
    found.push(item('warn', 'Pods enforce different configurations', undefined, '#/configuration'))
  return found
}

function ofUpstream({ name, health, breaker, credential, breaker_reason }, of, changes) {
  const found = []
  if (breaker !== 'closed') {
    const why = breaker_reason === undefined ? '' : `: ${breaker_reason}`
    const kind = breaker === 'open' ? 'bad' : 'warn'
    found.push(
      item(
        kind,
        `The breaker of upstream ${name} is ${breaker}${why}${of}`,
        beginning('breaker', name, changes),
        '#/routing',
      ),
    )
  }
  if (health === 'unhealthy')
    found.push(
      item(
        'bad',
        `Upstream ${name} is unhealthy${of}`,
        beginning('health', name, changes),
        '#/routing',
      ),
    )
  if (credential !== undefined && credential.state === 'missing')
    found.push(
      item(
        'bad',
        `Upstream ${name} has no credential${of}`,
        beginning('credential', name, changes),
        '#/routing',
      ),
    )
  return found
}

function ofTenant(standing) {
  return limitsOf(standing).flatMap(([name, { used, limit, window, resets_at }]) => {
    const isBudget = window === 'day' || window === 'month'
    if (!isBudget || Number(limit) <= 0 || Number(used) < Number(limit)) return []
    const words = `Tenant ${standing.tenant} has reached ${name}; it begins anew ${resets_at}`
    return [item('bad', words, undefined, '#/tenants')]
  })
}

/** Every limit of a standing, by its name: members that have a limit and what is used of it. */
export function limitsOf(standing) {
  const isLimit = (value) => value !== null && typeof value === 'object' && 'limit' in value
  const lists = Object.entries(standing).flatMap(([name, value]) =>
    Array.isArray(value) ? value.map((one) => [one.name ?? name, one]) : [[name, value]],
  )
  return lists.filter(([, value]) => isLimit(value))
}

export function isAway(store) {
  return store.state === 'away'
}

/** The newest change of this kind that names it. */
function beginning(event, name, changes) {
  const quoted = name === '' ? '' : `"${name}"`
  return changes.find((change) => change.event === event && change.message.includes(quoted))?.time
}

function item(kind, words, since, href) {
  return { kind, words, since, href }
}
