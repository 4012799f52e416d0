/** Compiles resources to documents for the pods, and collects their mistakes. Pure: no clock, no network. */

import { specProblems } from '../../crds/spec-problems.ts'
import { WorkloadSpec } from '../../crds/workload.ts'
import { readTree } from '../../dataplane/config/document/reading.ts'
import { judge } from '../../dataplane/config/judgement/judge.ts'
import {
  FINDINGS_MAX,
  type Finding,
  firstFindings,
  hasErrors,
  showPath,
} from '../../dataplane/config/judgement/problems.ts'
import { hashOf, type KeyRecord, type Payload } from '../../dataplane/delivery/signed.ts'
import { isRecord } from '../../dataplane/json/values.ts'
import { fileReferences } from '../checks/files.ts'
import { checkInCluster } from '../checks/index.ts'
import type { KubeObject } from '../kube/objects.ts'
import { type CompiledKeys, compileKeys, type KeyVerdict } from './compile-keys.ts'
import { digestOf } from './key-digests.ts'
import { type Needs, needsOf } from './needs.ts'

export interface Resources {
  readonly gateway: KubeObject
  /** Every GatewayKey that names this gateway, of any namespace. */
  readonly keys: readonly KubeObject[]
  /** Milliseconds since the epoch. */
  readonly now: number
  /** Active keys: an edit that makes a record unreadable leaves its earlier version active. */
  readonly keptKeys?: readonly KeyRecord[]
  /** False: further keys may exist, so warnings about tenants without keys are left out. */
  readonly areAllKeys?: boolean
}

export interface Compiled {
  /** Absent when a problem is an error. */
  readonly configuration: CompiledConfiguration | undefined
  /** Absent if it cannot be read; the problems have the reason. */
  readonly spec: WorkloadSpec | undefined
  readonly keys: readonly KeyRecord[]
  readonly keysHash: string
  /** By `namespace/name` of the GatewayKey. */
  readonly verdicts: ReadonlyMap<string, KeyVerdict>
  /** By paths as the user wrote them. */
  readonly problems: readonly Finding[]
  /** Only the keys are known yet. */
  readonly isPending?: true
}

export interface CompiledConfiguration {
  readonly payload: Payload
  /** Hash of the payload: pods acknowledge it, and the status compares it. */
  readonly hash: string
  readonly needs: Needs
}

export function compile(resources: Resources): Compiled {
  const { gateway, keys, now, keptKeys = [], areAllKeys = true } = resources
  const compiled = compileKeys({ gateway, keys, now, keptKeys })
  const tenants = tenantsOf(compiled)
  const judged = judgeGateway(gateway, now, (name) => !areAllKeys || tenants.has(name))
  return combine(judged, compiled, areAllKeys)
}

/** The result of checking a gateway without its keys. It is plain data, so that a thread can return it. */
export interface Judged extends Pick<Compiled, 'configuration' | 'spec' | 'problems'> {}

export function judgeGateway(
  gateway: KubeObject,
  now: number,
  hasOtherKeys: (tenant: string) => boolean,
): Judged {
  const found = judgeConfiguration(gateway, now, hasOtherKeys)
  // The API server refuses most mistakes in spec, but its definition may be older or newer than this operator.
  const spec = WorkloadSpec.safeParse(gateway.spec ?? {})
  const problems = [...found, ...(spec.success ? [] : specProblems(gateway.spec))]
  const configuration = hasErrors(problems) ? undefined : configurationOf(gateway)
  return { configuration, spec: spec.data, problems }
}

/** Adds the keys. Keys do not wait for the configuration, which is still being checked. */
export function combine(
  judged: Judged | undefined,
  { records, verdicts }: CompiledKeys,
  areAllKeys = true,
): Compiled {
  const keys = { keys: records, keysHash: digestOf(records), verdicts }
  if (judged === undefined) {
    return { configuration: undefined, spec: undefined, problems: [], ...keys, isPending: true }
  }
  const problems = judged.problems.filter(
    ({ severity, path }) =>
      // Keys may also come as GatewayKey resources.
      severity === 'error' ||
      showPath(path) !== 'gw.api_keys' ||
      (areAllKeys && records.length === 0),
  )
  return { ...judged, problems, ...keys }
}

export function tenantsOf({ records }: CompiledKeys): ReadonlySet<string> {
  return new Set(records.map(({ tenant }) => tenant))
}

/** References are not resolved here: no value of a Secret ever passes through the operator. */
function judgeConfiguration(
  gateway: KubeObject,
  now: number,
  hasOtherKeys: (tenant: string) => boolean,
): readonly Finding[] {
  const tree = documentOf(gateway)
  const reading = readTree(tree, { env: {}, readText: noFile })
  const { resolution } = reading
  const { configuration, findings: judged } = judge(reading, {
    now,
    place: 'pod',
    hasOtherKeys,
    // The schema cannot check a text that only a pod can resolve.
    isExpected: (source) => resolution.uses.has(source),
  })
  const findings = [
    ...resolution.findings,
    ...fileReferences(tree.gw, ['gw']),
    ...judged,
    ...(configuration === undefined ? [] : checkInCluster({ gateway, gw: configuration.gw })),
  ]
  return firstFindings(distinct(findings), FINDINGS_MAX)
}

function configurationOf(gateway: KubeObject): CompiledConfiguration {
  const payload = payloadOf(gateway)
  return { payload, hash: hashOf(payload), needs: needsOf(payload) }
}

/** The document that the user wrote, without the keys, which travel separately. */
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
    gw: isRecord(gateway.gw) ? gateway.gw : {},
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
