/** Adds the members of a vendor that an upstream sets to the body that it gets. */
import type { UpstreamSettings } from '../../config/snapshot.ts'
import { type SentMember, vendorMember } from '../../config/upstreams/parameters.ts'
import { editedBody, editMembers } from '../../json/edit.ts'
import type { Span } from '../../json/found.ts'
import { MembersScan } from '../../json/members.ts'
import { AT_ONCE_BYTES, Later, Unwritten } from '../../json/unwritten.ts'
import { isRecord, parsedExactly } from '../../json/values.ts'
import type { ModelRequest } from '../../wire/inner-form.ts'
import type { UpstreamRequest } from '../../wire/provider.ts'
import { shownParameter } from './shown-parameters.ts'

export interface WithMembers {
  readonly upstream: UpstreamRequest
  /** The members for the trace; undefined if none was set. */
  readonly shown?: readonly string[]
}

type Request = Pick<ModelRequest, 'operation' | 'below'>

/** The request itself if nothing is set. */
export function withMembers(
  upstream: UpstreamRequest,
  { operation, below }: Request,
  { parameters }: Pick<UpstreamSettings, 'parameters'>,
): WithMembers {
  // A recording is sent as a form.
  if (parameters === undefined || operation === 'transcription' || below !== undefined)
    return { upstream }
  const { sent } = parameters
  return added(
    upstream,
    sent.filter(({ operations }) => operations?.includes(operation) !== false),
  )
}

/** Parameters of the client that the inner form lacks, if the API of the upstream has them. */
export function withVendors(
  upstream: UpstreamRequest,
  { vendors }: Pick<ModelRequest, 'vendors'>,
  dropped: readonly string[] | undefined,
  { section, capabilities }: Pick<UpstreamSettings, 'section' | 'capabilities'>,
): { readonly upstream: UpstreamRequest; readonly dropped: readonly string[] | undefined } {
  if (vendors === undefined) return { upstream, dropped }
  const wanted = Object.entries(vendors).flatMap(([name, value]) => {
    if (dropped?.includes(name) !== true || capabilities.refused?.includes(name)) return []
    return vendorMember({ name, value, isForced: false }, section.provider) ?? []
  })
  if (wanted.length === 0) return { upstream, dropped }
  const left = dropped?.filter((name) => !wanted.some((one) => one.name === name))
  return { ...added(upstream, wanted), dropped: left?.length === 0 ? undefined : left }
}

function added(upstream: UpstreamRequest, wanted: readonly SentMember[]): WithMembers {
  if (wanted.length === 0) return { upstream }
  const { body } = upstream
  if (body instanceof Unwritten || body.length > AT_ONCE_BYTES) {
    const later = new Unwritten([new Later(() => adding(body, wanted))])
    return { upstream: { ...upstream, body: later }, shown: shownOf(wanted) }
  }
  const bytes = Buffer.from(body)
  const scan = scanOf(bytes)
  scan.run(bytes.length)
  const { edits, set } = editsFor(bytes, scan.spans, wanted)
  if (set.length === 0) return { upstream }
  return {
    upstream: { ...upstream, body: editMembers(bytes, scan.spans, edits) },
    shown: shownOf(set),
  }
}

function shownOf(members: readonly SentMember[]): readonly string[] {
  return members.map(({ name, value, isForced }) => shownParameter(name, value, isForced))
}

/** Bytes that are scanned between two steps. */
const SCAN_BYTES = 65_536

function* adding(
  body: UpstreamRequest['body'],
  wanted: readonly SentMember[],
): Generator<undefined, unknown> {
  const bytes = body instanceof Unwritten ? yield* body.whole() : Buffer.from(body)
  const scan = scanOf(bytes)
  for (let until = SCAN_BYTES; !scan.run(until); until += SCAN_BYTES) yield
  return editedBody(bytes, scan.spans, editsFor(bytes, scan.spans, wanted).edits)
}

/** The gateway has written the bytes, so the bounds for those of clients do not apply. */
function scanOf(bytes: Buffer): MembersScan {
  return new MembersScan(bytes, undefined, Number.POSITIVE_INFINITY)
}

type Spans = ReadonlyMap<string, Span>

function editsFor(
  bytes: Buffer,
  spans: Spans,
  wanted: readonly SentMember[],
): { readonly edits: ReadonlyMap<string, string>; readonly set: readonly SentMember[] } {
  const values = new Map<string, unknown>()
  const set: SentMember[] = []
  const valueNow = (name: string) => {
    const span = spans.get(name)
    if (values.has(name) || span === undefined) return values.get(name)
    return parsedExactly(bytes.toString('utf8', span.start, span.end))
  }
  for (const one of wanted) {
    const { below, member, value, isForced } = one
    const top = below ?? member
    const asked = below === undefined ? value : { [member]: value }
    const present = valueNow(top)
    const merged = mergedOf(present, asked, isForced)
    if (merged === present) continue
    values.set(top, merged)
    set.push(one)
  }
  const edits = [...values].map(([name, value]) => [name, JSON.stringify(value)] as const)
  return { edits: new Map(edits), set }
}

/** Objects are merged member by member; the same value if nothing changes. */
function mergedOf(present: unknown, value: unknown, isForced: boolean): unknown {
  if (present === undefined || present === null) return value
  if (!isRecord(present) || !isRecord(value)) return isForced ? value : present
  const changes = Object.entries(value).flatMap(([name, inner]) => {
    const before = Object.hasOwn(present, name) ? present[name] : undefined
    const after = mergedOf(before, inner, isForced)
    return after === before ? [] : [[name, after] as const]
  })
  return changes.length === 0 ? present : { ...present, ...Object.fromEntries(changes) }
}
