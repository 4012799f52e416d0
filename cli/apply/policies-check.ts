/**
 * TenantPolicies beside the configuration in one file: the mistakes of each, and the amounts that its gateway limits.
 */
import { POLICY_KIND, POLICY_VERSION } from '../../crds/tenant-policy.ts'
import type { Loaded } from '../../dataplane/config/apart/loaded.ts'
import { type ParsedDocument, parseDocument } from '../../dataplane/config/document/document.ts'
import {
  type Finding,
  hasErrors,
  problemAt,
  refuse,
  showPath,
  sortProblems,
  warn,
} from '../../dataplane/config/judgement/problems.ts'
import { recordOf, textOf, valueBelow } from '../../dataplane/json/values.ts'
import { judgeGateway } from '../../operator/compile/compile.ts'
import type { PolicyVerdict } from '../../operator/compile/policy-verdict.ts'
import { faultsOfPolicy, gatewayOfPolicy } from '../../operator/compile/tenant-policies.ts'
import { withPolicies } from '../../operator/compile/with-policies.ts'
import { type KubeObject, keyOf } from '../../operator/kube/objects.ts'

/** A file in parts. Each part keeps its line numbers, with blank lines instead of the other parts. */
export interface Parts {
  readonly configuration: string
  readonly policies: readonly string[]
}

const API_VERSION = `inference.gw/${POLICY_VERSION}`
const SEPARATOR = /^---(\s|$)/

/** Undefined if no document of the file is a TenantPolicy. */
export function partsOf(text: string, file: string): Parts | undefined {
  if (!text.includes(POLICY_KIND)) return undefined
  const lines = text.split('\n')
  const starts = [0, ...lines.flatMap((line, at) => (at > 0 && SEPARATOR.test(line) ? [at] : []))]
  const policies: string[] = []
  const kept = [...lines]
  for (const [index, start] of starts.entries()) {
    const end = starts[index + 1] ?? lines.length
    const part = '\n'.repeat(start) + lines.slice(start, end).join('\n')
    const tree = parseDocument(part, file).document?.tree
    if (valueBelow(tree, 'kind') !== POLICY_KIND) continue
    policies.push(part)
    kept.fill('', start, end)
  }
  return policies.length === 0 ? undefined : { configuration: kept.join('\n'), policies }
}

interface ReadPolicy {
  readonly document: ParsedDocument
  readonly policy: KubeObject
}

/** Adds the problems of the policies; a policy that has no effect here is an error. */
export function withPolicyProblems(loaded: Loaded, parts: Parts, now: number): Loaded {
  const { file } = loaded
  const gateway = gatewayIn(parts.configuration, file)
  const read = parts.policies.flatMap((text): ReadPolicy[] => {
    const { document } = parseDocument(text, file)
    return document === undefined ? [] : [{ document, policy: policyOf(document.tree) }]
  })
  const own = read.filter(({ policy }) => isFor(gateway, policy)).map(({ policy }) => policy)
  const judged =
    loaded.configuration === undefined
      ? { configuration: undefined }
      : judgeGateway(gateway, now, () => true)
  const { policies: verdicts } = withPolicies(judged, gateway, own)
  const found = read.flatMap(({ document, policy }) =>
    findingsOf(policy, gateway, verdicts.get(keyOf(policy))).map((finding) =>
      problemAt(finding, {
        file,
        path: showPath(finding.path),
        ...document.positionOf(finding.path, finding.atKey),
      }),
    ),
  )
  const { configuration, ...rest } = loaded
  const kept = configuration === undefined || hasErrors(found) ? {} : { configuration }
  return { ...rest, ...kept, problems: sortProblems(file, [...loaded.problems, ...found]) }
}

function gatewayIn(text: string, file: string): KubeObject {
  const tree = recordOf(parseDocument(text, file).document?.tree)
  return { metadata: metadataOf(tree), spec: tree.spec, gw: tree.gw }
}

function policyOf(tree: unknown): KubeObject {
  const { apiVersion, spec } = recordOf(tree)
  return { apiVersion: textOf(apiVersion) ?? '', metadata: metadataOf(tree), spec }
}

function metadataOf(tree: unknown) {
  const [name = '', namespace = 'default'] = ['name', 'namespace'].map((member) =>
    textOf(valueBelow(tree, 'metadata', member)),
  )
  return { name, namespace }
}

/** Outside of a cluster a configuration needs no name. */
function isFor(gateway: KubeObject, policy: KubeObject): boolean {
  return gateway.metadata.name === '' || gatewayOfPolicy(policy) === keyOf(gateway)
}

function findingsOf(
  policy: KubeObject,
  gateway: KubeObject,
  verdict: PolicyVerdict | undefined,
): readonly Finding[] {
  const faults = [...headFaults(policy), ...faultsOfPolicy(policy)]
  if (faults.length > 0) return faults
  if (isFor(gateway, policy)) return verdict === undefined ? [] : findingOf(policy, verdict)
  const message = `names ${gatewayOfPolicy(policy)}, but the file has ${keyOf(gateway)}: not checked`
  return [warn(['spec', 'gateway'], message, 'Check it in the file of its gateway.')]
}

function headFaults({ apiVersion, metadata }: KubeObject): Finding[] {
  const version = refuse(['apiVersion'], `must be ${API_VERSION}`, `Write ${API_VERSION}.`)
  const name = refuse(['metadata', 'name'], 'is missing', 'Give the TenantPolicy a name.')
  return [...(apiVersion === API_VERSION ? [] : [version]), ...(metadata.name ? [] : [name])]
}

function findingOf(policy: KubeObject, { reason, message }: PolicyVerdict): Finding[] {
  const tenant = JSON.stringify(valueBelow(policy, 'spec', 'tenant'))
  const { namespace } = policy.metadata
  const said = message.replace(/\.$/, '')
  if (reason === 'Accepted') return []
  if (reason === 'Bounded') {
    const fix = 'Lower the amounts, or have the owner of the gateway raise the ceiling.'
    return [warn(['spec'], said, fix)]
  }
  if (reason === 'Overruled') {
    const fix = 'Remove the entry of the gateway, or the amounts here.'
    return [warn(['spec'], said, fix)]
  }
  if (reason === 'NotGranted') {
    const why = `spec.tenants.from of the gateway has no entry for namespace "${namespace}" and tenant ${tenant}`
    return [refuse(['spec', 'tenant'], why, 'Add one to the GatewayConfig, or correct the tenant.')]
  }
  if (reason === 'Conflicted') {
    const why = `another TenantPolicy of the file is for tenant ${tenant}; the older one counts`
    return [refuse(['spec', 'tenant'], why, 'Delete one of them.')]
  }
  const [, place = 'spec', rest = said] = /^(spec[^:\s]*): (.*)$/s.exec(said) ?? []
  if (reason === 'Unplaced')
    return [warn(place.split('.'), rest, 'Correct the labels, or label an upstream.')]
  return [refuse(place.split('.'), rest, 'Correct the field, or remove it.')]
}
