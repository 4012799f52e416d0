/** Resources to what is sent to the pods, and what is wrong with them. Pure: no clock, no network. */

import { specProblems } from '../crds/spec-problems.ts'
import { WorkloadSpec } from '../crds/workload.ts'
import { canonicalize } from '../dataplane/config/canonical.ts'
import { judge } from '../dataplane/config/judge.ts'
import {
  FINDINGS_MAX,
  type Finding,
  firstFindings,
  hasErrors,
  showPath,
} from '../dataplane/config/problems.ts'
import { resolveReferences } from '../dataplane/config/references.ts'
import { hashOf, type KeyRecord, type Payload } from '../dataplane/config/signed.ts'
import { fileReferences } from './checks/files.ts'
import { checkInCluster } from './checks/index.ts'
import { compileKeys, type KeyVerdict } from './compile-keys.ts'
import { digestOf } from './key-digests.ts'
import { type Needs, needsOf } from './needs.ts'
import { isObject, type KubeObject } from './objects.ts'

export interface Resources {
  readonly gateway: KubeObject
  /** Every GatewayKey that names this gateway, of whatever namespace. */
  readonly keys: readonly KubeObject[]
  /** Milliseconds since the epoch. */
  readonly now: number
  /** Keys that are in force: a record that was made unreadable keeps what it said before. */
  readonly keptKeys?: readonly KeyRecord[]
  /** False: `keys` are not all that there are, so that nothing is said of what has none. */
  readonly areAllKeys?: boolean
}

export interface Compiled {
  /** Absent when a problem is an error. */
  readonly configuration: CompiledConfiguration | undefined
  /** Absent when it cannot be read; what is wrong is among the problems. */
  readonly spec: WorkloadSpec | undefined
  readonly keys: readonly KeyRecord[]
  readonly keysHash: string
  /** By `namespace/name` of the GatewayKey. */
  readonly verdicts: ReadonlyMap<string, KeyVerdict>
  /** By paths as the user wrote them. */
  readonly problems: readonly Finding[]
}

export interface CompiledConfiguration {
  readonly payload: Payload
  /** Of the payload: what pods acknowledge and status compares. */
  readonly hash: string
  readonly needs: Needs
}

export function compile(resources: Resources): Compiled {
  const { gateway, keys, now, keptKeys = [], areAllKeys = true } = resources
  const compiled = compileKeys({ gateway, keys, now, keptKeys })
  const tenants = new Set(compiled.records.map(({ tenant }) => tenant))
  const judged = judgeConfiguration(gateway, now, (name) => !areAllKeys || tenants.has(name))
  // The API server refuses most of what is wrong in it; the definition there may be older or newer than we are.
  const spec = WorkloadSpec.safeParse(gateway.spec ?? {})
  const found = [...judged.problems, ...(spec.success ? [] : specProblems(gateway.spec))]
  const problems = found.filter(
    ({ severity, path }) =>
      // Keys may also come as resources of their own.
      severity === 'error' ||
      showPath(path) !== 'gw.api_keys' ||
      (areAllKeys && compiled.records.length === 0),
  )
  return {
    configuration: hasErrors(problems) ? undefined : configurationOf(gateway),
    spec: spec.data,
    keys: compiled.records,
    keysHash: digestOf(compiled.records),
    verdicts: compiled.verdicts,
    problems,
  }
}

interface Judged {
  readonly problems: readonly Finding[]
}

/** References are not resolved here: no value of a Secret ever passes through the operator. */
function judgeConfiguration(
  gateway: KubeObject,
  now: number,
  hasOtherKeys: (tenant: string) => boolean,
): Judged {
  const tree = documentOf(gateway)
  const resolution = resolveReferences(tree, { env: {}, readText: noFile })
  const resolved = canonicalize(resolution.tree)
  const written = canonicalize(tree)
  const judgement = judge(
    { resolved: resolved.tree, written: written.tree },
    // What the schema says of a text that only a pod can resolve says nothing.
    {
      now,
      place: 'pod',
      hasOtherKeys,
      isExpected: (path) => resolution.uses.has(showPath(resolved.sourceOf(path))),
    },
  )
  const toWritten = (finding: Finding) => ({ ...finding, path: resolved.sourceOf(finding.path) })
  const configuration = judgement.configuration
  const findings = [
    ...resolution.findings,
    ...fileReferences(tree.gw, ['gw']),
    ...[...judgement.faults, ...judgement.findings].map(toWritten),
    ...(configuration === undefined ? [] : checkInCluster({ gateway, gw: configuration.gw })),
  ]
  return { problems: firstFindings(distinct(findings), FINDINGS_MAX) }
}

function configurationOf(gateway: KubeObject): CompiledConfiguration {
  const payload = payloadOf(gateway)
  return { payload, hash: hashOf(payload), needs: needsOf(payload) }
}

/** What the user wrote, without the keys, which travel on their own. */
function payloadOf(gateway: KubeObject): Payload {
  const { apiVersion, kind, metadata, gw } = documentOf(gateway)
  const { api_keys: _, ...rest } = gw
  return { apiVersion, kind, metadata, gw: rest }
}

function documentOf(gateway: KubeObject): Payload {
  const { name, namespace = '' } = gateway.metadata
  return {
    apiVersion: 'inference.gw/v1',
    kind: 'GatewayConfig',
    metadata: { name, namespace },
    gw: isObject(gateway.gw) ? gateway.gw : {},
  }
}

function noFile(): never {
  throw new Error('files are read by the pods')
}

function distinct(findings: readonly Finding[]): Finding[] {
  const byText = new Map(
    findings.map((finding) => [`${showPath(finding.path)}\n${finding.message}`, finding]),
  )
  return [...byText.values()]
}

/** `gw.routes[0].name: message. fix` as conditions show it. */
export function showFinding({ path, message, fix }: Finding): string {
  const field = path.length === 0 ? '' : `${showPath(path)}: `
  // A suggestion is a question.
  return `${field}${message}${message.endsWith('?') ? '' : '.'} ${fix}`
}
