/**
 * Checks the payload of a signed configuration by a pod's rules: unknown fields are ignored and reported, and an
 * unresolved reference disables only its upstream.
 */

import type { Keys } from '../call/key-entry.ts'
import { type Loaded, referencesFrom } from '../config/apart/loaded.ts'
import { type DocumentReading, readTree } from '../config/document/reading.ts'
import { filesReferredTo, type Host, type Unresolved } from '../config/document/references.ts'
import type { Tree } from '../config/document/tree.ts'
import { type Judgement, judge } from '../config/judgement/judge.ts'
import { Suggestions } from '../config/judgement/nearest.ts'
import { type PointedProblem, pointed, pointerOf } from '../config/judgement/pointer.ts'
import {
  type Finding,
  type Path,
  problemAt,
  refuse,
  showPath,
} from '../config/judgement/problems.ts'
import { pathOf } from '../config/judgement/shape.ts'
import { unresolvedFinding } from '../config/judgement/unresolved.ts'
import { readTlsFiles, tlsFilesOf } from '../config/tls-files.ts'
import { readTokenizerFiles, tokenizerFilesOf } from '../config/tokenizer-files.ts'
import { isRecord, valueBelow } from '../json/values.ts'
import type { Section } from '../schema/index.ts'
import { GatewayConfig } from '../schema/index.ts'
import { hashOf } from './signed.ts'

export interface UnresolvedReference {
  readonly upstream: string
  readonly pointer: string
  readonly reference: string
  /** The reason, never the value of the reference. */
  readonly why: string
}

export interface LoadedPayload {
  /** For the activation; it has a configuration if there are no problems. */
  readonly loaded: Loaded
  readonly hash: string
  /** Why it is refused. */
  readonly problems: readonly PointedProblem[]
  /** Fields that this release does not know, or that have no effect in a pod. */
  readonly ignored: readonly string[]
  /** Each of them disables an upstream. */
  readonly unresolved: readonly UnresolvedReference[]
  /** Files whose change may change the result. */
  readonly files: readonly string[]
}

export interface PayloadContext {
  /** The name of the document in logs. */
  readonly name: string
  readonly host: Host
  /** While the gateway runs, keys come in a separate document. */
  readonly keys: Keys
}

/** A pod's keys come in a separate document, its file system is read-only, and no file is beside the document. */
const MEANT_FOR_FILES: readonly string[] = ['api_keys_file', 'state_dir']
const LISTED_MAX = 100
/** Each may disable an upstream, so it checks more than it reports. */
const FINDINGS_IN_POD_MAX = 5_000
/** Removing a field can reveal other unknown ones. */
const ROUNDS_MAX = 4
/** An address that no resolver knows (RFC 6761), for upstreams without a usable reference. */
const NO_ENDPOINT = 'http://unresolved.invalid'

/** The payload comes from the operator; nothing else about it is known. */
export function loadPayload(payload: Tree, given: PayloadContext): LoadedPayload {
  const context = { ...given, host: podHostOf(given.host) }
  let hash: string
  try {
    hash = hashOf(payload)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return outcomeOf(context.name, '', [refuse([], message, 'Flatten it.')])
  }
  const prepared = prepare(payload, context.host)
  const { resolution, written, moves, ignored } = prepared
  const { judgement, out: byReference } = judgeAndPutOut(prepared, context.host)
  const { configuration } = judgement
  const files = configuration === undefined ? [] : fileFindings(configuration.gw, context.host)
  const out = [...byReference, ...files.filter(isOfUpstream).map(outByFile)]
  const outcome = outcomeOf(context.name, hash, [
    ...findingsOf(prepared, judgement, byReference),
    ...files.filter((finding) => !isOfUpstream(finding)),
  ])
  const references = [...resolution.uses.values()].flatMap(({ text }) =>
    filesReferredTo(text, context.host),
  )
  const named =
    configuration === undefined
      ? []
      : [...tlsFilesOf(configuration.gw), ...tokenizerFilesOf(configuration.gw)]
  const report = {
    ...outcome,
    ignored: ignored.slice(0, LISTED_MAX).map(pointerOf),
    unresolved: out.slice(0, LISTED_MAX).map(({ path, reference, why }) => ({
      upstream: upstreamAt(written, path),
      pointer: pointerOf(path),
      reference,
      why,
    })),
    files: [...new Set([...references, ...named])],
  }
  if (configuration === undefined || outcome.problems.length > 0) return report
  const disabled = new Map(
    out.map(({ path, reference, why }) => [upstreamAt(written, path), `${reference}: ${why}`]),
  )
  const { keys } = context
  const loaded: Loaded = {
    ...outcome.loaded,
    configuration,
    referenceAt: referencesFrom({ uses: resolution.uses, moves }),
    delivered: { hash, keys, disabled },
  }
  return { ...report, loaded }
}

/** Secrets of other documents are mounted beside those of this one: a path must not lead to them. */
function podHostOf(host: Host): Host {
  const { env } = host
  const readText = (path: string) => host.readText(path)
  return { env, readText, refusesFiles: true, ...(host.now && { now: () => host.now?.() ?? 0 }) }
}

interface Prepared extends DocumentReading {
  /** As the user wrote them. */
  readonly ignored: readonly Path[]
}

/** The document without fields that have no effect here, resolved and as written. */
function prepare({ apiVersion, kind, metadata, gw }: Tree, host: Host): Prepared {
  const sections = Object.entries(isRecord(gw) ? gw : {})
  const meantForFiles = sections.filter(([name]) => MEANT_FOR_FILES.includes(name))
  const kept = sections.filter(([name]) => name !== 'api_keys' && !MEANT_FOR_FILES.includes(name))
  // The parts that are dropped below must stay in the payload, which is loaded again when a secret changes.
  const document = structuredClone({ apiVersion, kind, metadata, gw: Object.fromEntries(kept) })
  keepApart(document)
  const reading = readTree(document, host)
  const unknown = dropUnknown(reading.resolved, reading.written)
  const ignored = [
    ...meantForFiles.map(([name]) => ['gw', name]),
    ...unknown.map((path) => reading.sourceOf(path)),
  ]
  return { ...reading, ignored }
}

/** Gateways of one cluster often share a Redis; to share counters too, they must be configured so. */
function keepApart({ gw, metadata }: Tree): void {
  const redis = valueBelow(gw, 'rate_limits', 'redis')
  if (!isRecord(redis) || redis.key_prefix !== undefined || !isRecord(metadata)) return
  redis.key_prefix = `gw:${metadata.namespace}/${metadata.name}`
}

/** Removes the fields that the schema does not know from both trees. Returns their canonical paths. */
function dropUnknown(resolved: unknown, written: unknown): Path[] {
  const dropped: Path[] = []
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const parsed = GatewayConfig.safeParse(resolved)
    const issues = parsed.success ? [] : parsed.error.issues
    const unknown = issues.flatMap((issue) =>
      issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...pathOf(issue), key]) : [],
    )
    if (unknown.length === 0) break
    for (const path of unknown) {
      for (const tree of [resolved, written]) {
        const parent = valueBelow(tree, ...path.slice(0, -1))
        if (isRecord(parent)) delete parent[String(path.at(-1))]
      }
    }
    dropped.push(...unknown)
  }
  return dropped
}

/** Checks the document without the values of upstreams' references that do not resolve or cannot be used. */
function judgeAndPutOut(
  prepared: Prepared,
  host: Host,
): { judgement: Judgement; out: readonly Unresolved[] } {
  const { resolution, resolved, written } = prepared
  const suggestions = new Suggestions()
  const place = 'pod' as const
  const options = { now: host.now?.(), place, most: FINDINGS_IN_POD_MAX, suggestions }
  const nowhere = resolution.unresolved.filter(isOfUpstream)
  standIn(resolved, written, nowhere)
  const judgement = judge(prepared, options)
  const unusable = judgement.findings.flatMap((finding) => {
    const use = resolution.uses.get(showPath(finding.path))
    if (use === undefined || finding.severity === 'warning' || !isOfUpstream(finding)) return []
    return [{ path: finding.path, reference: use.text, why: finding.message }]
  })
  const out = [...nowhere, ...unusable.filter(({ path }) => !nowhere.some(isAt(path)))]
  if (unusable.length === 0) return { judgement, out }
  standIn(resolved, written, unusable)
  return { judgement: judge(prepared, options), out }
}

/** If there is no valid value, the written text stays; an endpoint must be an address. */
function standIn(resolved: unknown, written: unknown, places: readonly Unresolved[]): void {
  for (const { path } of places) {
    const parent = valueBelow(resolved, ...path.slice(0, -1))
    const field = path.at(-1)
    if (!isRecord(parent) || typeof field !== 'string') continue
    const isEndpoint = field === 'endpoint' && path.length === 4
    parent[field] = isEndpoint ? NO_ENDPOINT : valueBelow(written, ...path)
  }
}

function findingsOf(
  { resolution }: Prepared,
  judgement: Judgement,
  out: readonly Unresolved[],
): Finding[] {
  const others = resolution.unresolved.filter((one) => !isOfUpstream(one))
  const reported = [...out, ...others]
  const judged = judgement.findings.filter(
    ({ severity, path }) => severity === 'error' && !reported.some(isAt(path)),
  )
  return [...resolution.findings, ...others.map((one) => unresolvedFinding(one, 'run')), ...judged]
}

/** The result of a refused document; of one without findings, except its configuration. */
function outcomeOf(name: string, hash: string, findings: readonly Finding[]): LoadedPayload {
  const shown = findings.slice(0, LISTED_MAX)
  const place = (path: Path) => ({ file: name, path: showPath(path), line: 1, column: 1 })
  return {
    loaded: {
      file: name,
      problems: shown.map((finding) => problemAt(finding, place(finding.path))),
      unresolved: [],
      ownKeys: 0,
      referenceAt: () => undefined,
    },
    hash,
    problems: shown.map(pointed),
    ignored: [],
    unresolved: [],
    files: [],
  }
}

function fileFindings(section: Section, { readText }: Host): Finding[] {
  return [...readTlsFiles(section, readText), ...readTokenizerFiles(section, readText)]
}

function isOfUpstream({ path }: { readonly path: Path }): boolean {
  return path[0] === 'gw' && path[1] === 'upstreams' && typeof path[2] === 'number'
}

function isAt(path: Path): (one: { readonly path: Path }) => boolean {
  const shown = showPath(path)
  return (one) => showPath(one.path) === shown
}

function outByFile({ path, message }: Finding): Unresolved {
  return { path, reference: showPath(path), why: message }
}

function upstreamAt(written: unknown, path: Path): string {
  const name = valueBelow(written, ...path.slice(0, 3), 'name')
  return typeof name === 'string' ? name : ''
}
