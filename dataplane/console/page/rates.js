/** Rates from two samples of counters, added up over pods. Counters that fell were reset by a restart. */

/**
 * The rates between two samples, by route, upstream and tenant, and of all routes together; known if one pod is in
 * both.
 */
export function ratesOf(before, after) {
  const rates = { total: empty(), routes: new Map(), upstreams: new Map(), tenants: new Map() }
  for (const pod of after.pods) {
    const now = pod.activity
    if (now === undefined) continue
    const then = before?.pods.find(({ name }) => name === pod.name)?.activity
    const bounds = now.first_token_bounds
    const elapsed = then === undefined ? 0 : (now.at_ms - then.at_ms) / 1000
    const isNew = elapsed <= 0
    if (!isNew) rates.total.isKnown = true
    const share = (old, value) => (isNew ? 0 : risen(old, value) / elapsed)
    for (const route of now.routes) {
      const old = named(then?.routes, route.name)
      for (const sum of [at(rates.routes, route.name), rates.total]) {
        sum.bounds = bounds
        sum.inFlight += route.in_flight
        sum.requests += share(old?.requests, route.requests)
        sum.errors += share(old && faultsOf(old), faultsOf(route))
        sum.refused += share(old?.refused, route.refused)
        sum.tokens += share(old?.tokens, route.tokens)
        if (!isNew) addCounts(sum.firstTokens, old?.first_tokens, route.first_tokens)
        addReasons(sum.reasons, route.overflow)
      }
    }
    for (const upstream of now.upstreams ?? []) {
      const old = named(then?.upstreams, upstream.name)
      const sum = at(rates.upstreams, upstream.name)
      sum.bounds = bounds
      sum.requests += share(old?.attempts, upstream.attempts)
      sum.errors += share(failed(old), failed(upstream))
      sum.tokens += share(old?.tokens, upstream.tokens)
      if (!isNew) addCounts(sum.firstTokens, old?.first_tokens, upstream.first_tokens)
      addReasons(sum.reasons, upstream.outcomes)
    }
    for (const tenant of now.tenants) {
      const old = named(then?.tenants, tenant.name)
      const sum = at(rates.tenants, tenant.name)
      const refused = share(old?.refused, tenant.refused)
      sum.requests += share(old?.admitted, tenant.admitted) + refused
      sum.errors += refused
      addReasons(sum.reasons, tenant.reasons)
    }
  }
  return rates
}

/** As Prometheus estimates it: evenly spread within a bucket; undefined without a sample. */
export function quantile(share, { bounds, firstTokens }) {
  const total = firstTokens.reduce((sum, count) => sum + count, 0)
  if (total === 0) return undefined
  const rank = share * total
  let below = 0
  for (const [index, bound] of bounds.entries()) {
    const count = firstTokens[index] ?? 0
    if (count > 0 && below + count >= rank) {
      const lower = bounds[index - 1] ?? 0
      return lower + ((bound - lower) * (rank - below)) / count
    }
    below += count
  }
  return bounds.at(-1)
}

/** Errors of upstreams and of the gateway: a refusal by a limit or of what a client sent is not theirs. */
function faultsOf({ errors, refused = 0, client_errors: client = 0 }) {
  return errors - refused - client
}

/** Failed attempts; a client that left is not a failure of the upstream. */
function failed(upstream) {
  const outcomes = Object.entries(upstream?.outcomes ?? {})
  const bad = outcomes.filter(([outcome]) => outcome !== 'ok' && outcome !== 'left')
  return bad.reduce((sum, [, count]) => sum + count, 0)
}

function risen(before = 0, after = 0) {
  return after >= before ? after - before : after
}

function named(list, name) {
  return list?.find((one) => one.name === name)
}

function at(sums, name) {
  const sum = sums.get(name) ?? empty()
  sums.set(name, sum)
  return sum
}

function empty() {
  return {
    isKnown: false,
    requests: 0,
    errors: 0,
    refused: 0,
    tokens: 0,
    inFlight: 0,
    firstTokens: [],
    bounds: [],
    reasons: {},
  }
}

function addCounts(sums, old = [], counts = []) {
  for (const [index, count] of counts.entries())
    sums[index] = (sums[index] ?? 0) + risen(old[index], count)
}

function addReasons(sums, reasons = {}) {
  for (const [reason, count] of Object.entries(reasons)) sums[reason] = (sums[reason] ?? 0) + count
}
