/** Reads a pod's report at its push port, without trusting it. */
import { parseJson } from '../../dataplane/json/parse.ts'
import { isRecord, valueBelow } from '../../dataplane/json/values.ts'
import type { SentDocument } from './bundle.ts'
import { type ReportedRollout, readRollouts } from './reported-rollouts.ts'

export interface PodReport {
  readonly configuration: {
    readonly hash: string | undefined
    readonly documentHash: string | undefined
    readonly sequence: number
    readonly generation: number
    /** The newest document that the pod has seen, including refused ones. */
    readonly newestSequence: number
    readonly refused: RefusedDocument | undefined
    readonly isLastKnownGood: boolean
  }
  readonly keys: ReportedKeys
  readonly unresolved: readonly UnresolvedReference[]
  readonly ignored: readonly string[]
  /** Absent in pods of earlier releases. */
  readonly refusedCredentials: readonly RefusedCredential[]
  /** Changed fields that take effect only in a new pod. */
  readonly waitsForStart: readonly string[]
  /** The verdicts of the pod's probes; absent if no route is verified, and in pods of earlier releases. */
  readonly verification: ReportedVerification | undefined
  /** The listener's; absent without TLS. */
  readonly certificate: ReportedCertificate | undefined
  readonly rollouts: readonly ReportedRollout[]
  /** Whether the pod's counters are in a shared store. */
  readonly hasSharedStore: boolean
  /** Set while the shared store does not answer the pod. */
  readonly storeAway: { readonly failOpen: boolean } | undefined
}

export interface ReportedVerification {
  /** The hash of the configuration that was probed. */
  readonly hash: string
  readonly routes: readonly ReportedRoute[]
}

export interface ReportedRoute {
  readonly route: string
  readonly state: 'answers' | 'fails' | 'pending'
  /** Why it fails; empty otherwise, so that equal reports stay equal. */
  readonly why: string
}

export interface ReportedCertificate {
  readonly name: string
  /** Milliseconds since the epoch. */
  readonly from: number
  readonly until: number
}

export interface ReportedKeys {
  readonly hash: string | undefined
  /** Absent in pods of releases up to 1.4. */
  readonly setHash: string | undefined
  readonly sequence: number
}

/** Whether a pod has this set of keys, by the hash that its release reports. */
export function hasKeys(
  { hash, setHash }: Omit<ReportedKeys, 'sequence'>,
  wanted: { readonly hash: string; readonly legacyHash: string },
): boolean {
  return setHash === undefined ? hash === wanted.legacyHash : setHash === wanted.hash
}

export function readKeys(value: unknown): ReportedKeys {
  return {
    hash: text(valueBelow(value, 'hash')),
    setHash: text(valueBelow(value, 'setHash')),
    sequence: number(valueBelow(value, 'sequence')),
  }
}

export interface RefusedDocument {
  readonly documentHash: string
  readonly sequence: number
  readonly problems: readonly PodProblem[]
}

export interface PodProblem {
  readonly pointer: string
  readonly message: string
  readonly fix: string
  /** A reference leads nowhere. */
  readonly isUnresolved: boolean
}

/** An upstream that refuses the pod's credential. */
export interface RefusedCredential {
  readonly upstream: string
  readonly status: number
  /** The index of the key, if the upstream has several. */
  readonly key?: number
}

export interface UnresolvedReference {
  readonly upstream: string
  readonly reference: string
  readonly why: string
}

/** Whether the pod has a problem that may end without help, so that its next report is needed soon. */
export function isTroubled(report: PodReport): boolean {
  const { unresolved, refusedCredentials, storeAway, configuration } = report
  const lacks = unresolved.length > 0 || refusedCredentials.length > 0
  return lacks || storeAway !== undefined || isSpoilt(configuration)
}

/** Whether the pod could not load its active document again, because a Secret has changed. */
export function isSpoilt({ refused, documentHash }: PodReport['configuration']): boolean {
  return refused !== undefined && refused.documentHash === documentHash
}

const LISTED_MAX = 50
/** A configuration may have a thousand routes. */
const ROUTES_MAX = 1000
const TEXT_LENGTH_MAX = 1024

export function readReport(body: unknown): PodReport {
  const configuration = valueBelow(body, 'configuration')
  const keys = valueBelow(body, 'keys')
  const lastError = valueBelow(configuration, 'lastError')
  return {
    configuration: {
      hash: text(valueBelow(configuration, 'hash')),
      documentHash: text(valueBelow(configuration, 'documentHash')),
      sequence: number(valueBelow(configuration, 'sequence')),
      generation: number(valueBelow(configuration, 'generation')),
      newestSequence: number(valueBelow(configuration, 'newestSequence')),
      isLastKnownGood: valueBelow(configuration, 'origin') === 'last_known_good',
      refused: isRecord(lastError)
        ? {
            documentHash: text(lastError.documentHash) ?? '',
            sequence: number(lastError.sequence),
            problems: readProblems(lastError.problems),
          }
        : undefined,
    },
    keys: readKeys(keys),
    unresolved: readUnresolved(valueBelow(body, 'unresolved')),
    ignored: readTexts(valueBelow(body, 'ignored')),
    refusedCredentials: readRefused(valueBelow(body, 'refusedCredentials')),
    waitsForStart: readTexts(valueBelow(body, 'waitsForStart')),
    verification: readVerification(valueBelow(body, 'verification')),
    rollouts: readRollouts(valueBelow(body, 'rollouts')),
    certificate: readCertificate(valueBelow(body, 'certificate')),
    hasSharedStore: valueBelow(body, 'store', 'backend') === 'redis',
    storeAway:
      valueBelow(body, 'store', 'state') === 'away'
        ? { failOpen: valueBelow(body, 'store', 'fail_open') === true }
        : undefined,
  }
}

function readVerification(value: unknown): ReportedVerification | undefined {
  const hash = text(valueBelow(value, 'hash'))
  if (hash === undefined) return undefined
  const routes = valueBelow(value, 'routes')
  const all = Array.isArray(routes) ? routes.slice(0, ROUTES_MAX) : []
  return { hash, routes: all.map(readRoute) }
}

function readRoute(value: unknown): ReportedRoute {
  const state = valueBelow(value, 'state')
  const known = state === 'answers' || state === 'fails' ? state : 'pending'
  const why = known === 'fails' ? (text(valueBelow(value, 'why')) ?? '') : ''
  return { route: text(valueBelow(value, 'route')) ?? '', state: known, why }
}

function readCertificate(value: unknown): ReportedCertificate | undefined {
  const from = Date.parse(text(valueBelow(value, 'notBefore')) ?? '')
  const until = Date.parse(text(valueBelow(value, 'notAfter')) ?? '')
  if (Number.isNaN(from) || Number.isNaN(until)) return undefined
  return { name: text(valueBelow(value, 'name')) ?? '', from, until }
}

export function readProblems(value: unknown): PodProblem[] {
  return list(value).map((problem) => ({
    pointer: text(valueBelow(problem, 'pointer')) ?? '',
    message: text(valueBelow(problem, 'message')) ?? 'not said why',
    fix: text(valueBelow(problem, 'fix')) ?? '',
    isUnresolved: valueBelow(problem, 'code') === 'ERR_GW_SECRET_UNRESOLVED',
  }))
}

export function readUnresolved(value: unknown): UnresolvedReference[] {
  return list(value).map((one) => ({
    upstream: text(valueBelow(one, 'upstream')) ?? '',
    reference: text(valueBelow(one, 'reference')) ?? '',
    why: text(valueBelow(one, 'why')) ?? '',
  }))
}

function readRefused(value: unknown): RefusedCredential[] {
  return list(value).map((one) => ({
    upstream: text(valueBelow(one, 'upstream')) ?? '',
    status: number(valueBelow(one, 'status')),
    ...(typeof valueBelow(one, 'key') === 'number' && { key: number(valueBelow(one, 'key')) }),
  }))
}

export function readTexts(value: unknown): string[] {
  return list(value).flatMap((entry) => text(entry) ?? [])
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value.slice(0, LISTED_MAX) : []
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value.slice(0, TEXT_LENGTH_MAX) : undefined
}

export function number(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0
}

/** Undefined for another answer. */
export function jsonOf({ body }: { readonly body: Buffer }): unknown {
  try {
    return parseJson(body.toString())
  } catch {
    return undefined
  }
}

/** The report of a pod that has just accepted a configuration: its answer is read like a report. */
export function reportAfter(report: PodReport, wanted: SentDocument, body: unknown): PodReport {
  return {
    ...report,
    configuration: {
      hash: wanted.hash,
      documentHash: wanted.documentHash,
      sequence: wanted.sequence,
      generation: number(valueBelow(body, 'generation')),
      newestSequence: wanted.sequence,
      refused: undefined,
      isLastKnownGood: false,
    },
    unresolved: readUnresolved(valueBelow(body, 'unresolved')),
    ignored: readTexts(valueBelow(body, 'ignored')),
    waitsForStart: readTexts(valueBelow(body, 'waitsForStart')),
    verification: readVerification(valueBelow(body, 'verification')),
  }
}
