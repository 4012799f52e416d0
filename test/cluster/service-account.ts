/** Accounts with exactly the rights that a test names. */

import type { Kubectl } from '../helpers/kubernetes/kubectl.ts'
import { until } from '../helpers/until.ts'

export interface ServiceAccount {
  readonly namespace: string
  readonly name: string
  /** The rules of a Role in its namespace, or of a ClusterRole. */
  readonly rules: readonly Readonly<Record<string, readonly string[]>>[]
  readonly clusterWide?: boolean
}

const GRANTED_SECONDS_MAX = 120

/** Its token; the account, its role and the binding stay until the cluster ends. */
export async function makeServiceAccount(
  kubectl: Kubectl,
  account: ServiceAccount,
): Promise<string> {
  const { namespace, name, rules, clusterWide = false } = account
  const scope = clusterWide ? 'ClusterRole' : 'Role'
  const metadata = clusterWide ? { name } : { name, namespace }
  const rbac = 'rbac.authorization.k8s.io'
  const items = [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } },
    { apiVersion: `${rbac}/v1`, kind: scope, metadata, rules },
    {
      apiVersion: `${rbac}/v1`,
      kind: `${scope}Binding`,
      metadata,
      roleRef: { apiGroup: rbac, kind: scope, name },
      subjects: [{ kind: 'ServiceAccount', name, namespace }],
    },
  ]
  const documents = items.map((item) => JSON.stringify(item)).join('\n---\n')
  await kubectl(['apply', '--server-side', '-f', '-'], { stdin: documents })
  await untilGranted(kubectl, account)
  return (await kubectl(['create', 'token', name, '-n', namespace, '--duration=24h'])).trim()
}

/** A new binding takes effect a moment later. */
async function untilGranted(kubectl: Kubectl, { namespace, name, rules }: ServiceAccount) {
  const [{ apiGroups = [], resources = [], verbs = [], resourceNames = [] } = {}] = rules
  const [kind = '', subresource] = (resources[0] ?? '').split('/')
  const what = [kind, ...(apiGroups[0] ? [apiGroups[0]] : [])].join('.')
  const args = [
    ...['auth', 'can-i', verbs[0] ?? '', [what, ...resourceNames.slice(0, 1)].join('/')],
    ...(subresource === undefined ? [] : [`--subresource=${subresource}`]),
    ...['-n', namespace, `--as=system:serviceaccount:${namespace}:${name}`],
  ]
  const isGranted = async () => (await kubectl(args).catch(() => 'no')).trim() === 'yes'
  if (rules.length > 0) await until(`${name} has its rights`, isGranted, GRANTED_SECONDS_MAX)
}
