/** The services beside the models: guardrails, vector stores, classifiers, issuers of tokens. */
import { section, state, table } from '../table.js'
import { breakerState } from './upstreams.js'

export function servicesOf({ pods }) {
  const rows = pods.flatMap(({ name: pod, status }) => {
    if (status === undefined) return []
    const row = (name, kind, is, more) => [name, kind, is, more, pod]
    return [
      ...status.guardrails.map(({ name, stage, on_error, endpoint, breaker }) =>
        row(
          name,
          `guardrail of the ${stage}`,
          breakerOf(breaker),
          `${endpoint}, on error ${on_error}`,
        ),
      ),
      ...status.vector_stores.map(({ name, provider, endpoint, breaker }) =>
        row(name, `vector store, ${provider}`, breakerOf(breaker), endpoint),
      ),
      ...status.classifiers.map(({ route, upstream, ready, exemplars, embedded, failure }) =>
        row(
          `route ${route}`,
          'classifier of prompts',
          failure === undefined
            ? state(ready ? 'good' : 'idle', ready ? 'ready' : 'learning')
            : state('bad', failure),
          `${embedded} of ${exemplars} examples by ${upstream}`,
        ),
      ),
      ...(status.issuers ?? []).map(({ name, issuer, keys, age_seconds, reason }) =>
        row(
          name,
          'issuer of tokens',
          reason === undefined ? state('good', `${keys} keys`) : state('bad', reason),
          `${issuer}${age_seconds === undefined ? '' : `, read ${age_seconds} s ago`}`,
        ),
      ),
    ]
  })
  if (rows.length === 0) return undefined
  return section(
    'Beside the models',
    table(
      'Services that are asked beside the models',
      ['Name', 'Kind', 'State', 'Facts', 'Pod'],
      rows,
    ),
  )
}

function breakerOf(breaker) {
  return ['breaker ', breakerState(breaker)]
}
