/** Collects the results of the end-to-end tests and the promises in one table. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { aligned } from '../helpers/results.ts'

/** The promises, in the order of the table. */
const PROMISES = {
  quickstart: [
    'the documented commands, then the official OpenAI SDK in a pod, by the DNS name of the Service',
    'streams an answer',
  ],
  model: ['llama-server in a pod, by the official SDK through the gateway', 'its exact words'],
  metrics: [
    'Prometheus in the cluster, by the monitors of the chart',
    'operators and pods up, every request counted once',
  ],
  alerts: ['the alerts of the chart in that Prometheus', 'loaded, healthy, quiet'],
  egress: [
    'NetworkPolicies enforced: from the pods of gateways and of the operator',
    'nothing but DNS, Redis, upstreams, and the API server by the operator alone',
  ],
  rollout: [
    'rolling update of 3 replicas under 200 requests/s and 100 open streams',
    '0 of at least 20,000 requests lost, 0 streams shorter than the drain timeout cut',
  ],
  limits: ['limits over 3 replicas with Redis in the cluster', 'burst + rate x time, once'],
  budgets: ['a budget over 3 replicas with Redis in the cluster', 'at most 1 request over'],
  pod_killed: ['a pod killed with SIGKILL under load', 'only its own requests fail'],
  redis_killed: ['Redis killed under load, fail_open', 'serving goes on'],
  operator_deleted: ['the operator deleted under load', 'serving goes on, and heals'],
  api_stopped: ['the API server stopped for 60 s under load', 'serving goes on, and heals'],
  scale: ['scale 1 -> 5 -> 1 under load', '0 lost, every replica has its share'],
  autoscaler: ['an autoscaler that the gateway asks for', 'the operator leaves it the replicas'],
  keda: ["KEDA's own scaler over three pods, as our page sets it", 'the sum of their open streams'],
  spread: [
    'three servers behind one Service, three pods of a gateway: the busiest by the mean',
    'at most 1.3',
  ],
  replicas: ['one of them killed under load, one added', '0 lost; the added one used'],
  affinity: ['conversations of six turns with balance: affinity', '85 % of later turns come back'],
  front: [
    'nginx in front of the Service, and answers that are silent for longer than its clock',
    'whole with the recipe, streams with heartbeats also without; all others cut',
  ],
  secret: ["an upstream's Secret rotated under load", '0 lost, the new one used, no restart'],
  corrupted: [
    'the ConfigMap of the documents corrupted while there is no operator',
    'pods serve on, new ones too, and it is repaired',
  ],
  mistake: [
    'a mistake in the resource',
    'the last good configuration goes on, and the status says what',
  ],
  model_rollout: [
    'a model rolled out while a pod and the operators are killed',
    'goes on, no step repeated',
  ],
  verified: ['rolls with killed pods and operators: Verified true while the route fails', '0'],
  why: ['incidents planted in the cluster, and the first sentence of gw why', 'names the cause'],
  runbooks: [
    'the incident of an alert planted in the cluster, and the commands of its page',
    'the expression holds, and a command prints the cause',
  ],
  upgrade: [
    'the last release upgraded to this one under load, with streams, keys, and budgets in Redis',
    '0 lost, and charged what the models served',
  ],
  refused: [
    'a rollback under load while a newer field is in use, then the newer chart again',
    'refused; no type, operator or pod rolled, 0 lost, charged what the models served',
  ],
  back: [
    'back to the last release under load, after the downgrade was allowed',
    '0 lost, charged what the models served; keys stay made and revoked',
  ],
  uninstall: ['uninstalled under load', 'nothing lost; only the definitions stay'],
} as const satisfies Readonly<Record<string, readonly [what: string, bound: string]>>

export type PromiseId = keyof typeof PROMISES

/** The file in which a run collects its rows; without it they are only printed. */
export const TABLE_FILE = 'E2E_TABLE_FILE'

export function show(id: PromiseId, shown: string): void {
  const file = process.env[TABLE_FILE]
  if (file !== undefined) appendFileSync(file, `${JSON.stringify({ id, shown })}\n`)
}

/** Marks promises without a result. */
export function resultTable(file: string): string {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const rows: { id: string; shown: string }[] = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
  const cells = Object.entries(PROMISES).map(([id, [what, bound]]) => {
    // A test of several rounds shows its row after each.
    const row = rows.findLast((one) => one.id === id)
    return [what, bound, row?.shown ?? 'not shown in this run']
  })
  return aligned([['what', 'bound', 'shown'], ...cells])
}
