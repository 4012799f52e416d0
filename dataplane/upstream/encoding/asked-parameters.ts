/** A request with the common parameters of its upstream, as if the client had sent them; each wire then translates them. */
import type { UpstreamSettings } from '../../config/snapshot.ts'
import type { AskedParameter } from '../../config/upstreams/parameters.ts'
import { editMembers } from '../../json/edit.ts'
import { MembersScan } from '../../json/members.ts'
import type { ModelRequest } from '../../wire/inner-form.ts'
import { clientMember, limitMembersOf } from './client-members.ts'
import { shownParameter } from './shown-parameters.ts'

export interface AskedRequest {
  readonly request: ModelRequest
  /** Limit of tokens to send if the client gave none. */
  readonly maxTokens: number | undefined
  /** The names of the parameters that the gateway has set. */
  readonly names: ReadonlySet<string>
  /** The same for the trace. */
  readonly shown: readonly string[]
}

/** The change of a request: members of its body and of its bytes. */
interface Changes {
  readonly body: Record<string, unknown>
  readonly bytes: Map<string, string | undefined>
  readonly names: Set<string>
  readonly shown: string[]
}

type Settings = Pick<UpstreamSettings, 'parameters' | 'capabilities'>

const NOTHING: ReadonlySet<string> = new Set()

/** The request itself if nothing is set. */
export function askingFor(
  request: ModelRequest,
  settings: Settings,
  maxTokens: number | undefined,
): AskedRequest {
  const { parameters } = settings
  const { operation } = request
  const isText = operation === 'chat' || operation === 'completions'
  // Below the path of requests, clients count tokens and shorten conversations.
  if (parameters === undefined || !isText || request.below !== undefined)
    return { request, maxTokens, names: NOTHING, shown: [] }
  const changes: Changes = { body: {}, bytes: new Map(), names: new Set(), shown: [] }
  for (const one of parameters.asked) {
    if (one.isOfChats && operation !== 'chat') continue
    if (!one.isForced && isGiven(one, request)) continue
    put(one, request, settings, changes)
  }
  const limited = withLimit(request, settings, maxTokens, changes)
  return { ...limited, request: changed(limited.request, changes), ...shownOf(changes) }
}

function shownOf({ names, shown }: Changes): Pick<AskedRequest, 'names' | 'shown'> {
  return { names, shown }
}

/** Whether the client has set it, in any form of its wire. */
function isGiven(
  { name }: AskedParameter,
  { body, spans, thinksFreely, wire }: ModelRequest,
): boolean {
  if ((body[name] ?? null) !== null) return true
  if (name !== 'reasoning_effort') return false
  if (thinksFreely === true) return true
  return wire === 'anthropic-messages' && spans.has('thinking')
}

function put(
  { name, value, isForced }: AskedParameter,
  request: ModelRequest,
  settings: Settings,
  { body, bytes, names, shown }: Changes,
): void {
  body[name] = value
  const member = clientMember({ name, value, request, settings })
  if (member !== undefined) bytes.set(member[0], JSON.stringify(member[1]))
  names.add(name)
  shown.push(shownParameter(name, value, isForced))
}

/** A forced limit replaces the client's; otherwise it is sent as the gateway's. */
function withLimit(
  request: ModelRequest,
  { parameters }: Settings,
  maxTokens: number | undefined,
  { body, bytes, shown }: Changes,
): Pick<AskedRequest, 'request' | 'maxTokens'> {
  const { force, default: byDefault } = parameters?.limit ?? {}
  const { maxTokens: own, unlimited } = request
  if (force === undefined) {
    if (own !== undefined || unlimited !== undefined || byDefault === undefined)
      return { request, maxTokens }
    shown.push(shownParameter('max_tokens', byDefault, false))
    return { request, maxTokens: byDefault }
  }
  shown.push(shownParameter('max_tokens', force, true))
  const text = own === undefined ? undefined : String(force)
  for (const member of limitMembersOf(request.wire))
    if (request.spans.has(member)) bytes.set(member, text)
  for (const member of ['max_tokens', 'max_completion_tokens'])
    if ((request.body[member] ?? null) !== null) body[member] = own === undefined ? null : force
  const limited = { ...request, unlimited: undefined }
  if (own === undefined) return { request: limited, maxTokens: force }
  return { request: { ...limited, maxTokens: force }, maxTokens }
}

function changed(request: ModelRequest, { body, bytes }: Changes): ModelRequest {
  if (Object.keys(body).length === 0 && bytes.size === 0) return request
  // The members that the form requires are still present.
  const whole = { ...request.body, ...body } as ModelRequest['body'] & never
  const { edits } = request
  const kept = edits && new Map([...edits].filter(([member]) => !bytes.has(member)))
  return { ...request, body: whole, ...(kept && { edits: kept }), ...rewritten(request, bytes) }
}

/** The bytes are the gateway's now, so the bounds for those of clients do not apply. */
function rewritten(
  { bytes, spans }: ModelRequest,
  edits: Changes['bytes'],
): Pick<ModelRequest, 'bytes' | 'found' | 'spans'> | undefined {
  if (edits.size === 0) return undefined
  const written = editMembers(bytes, spans, edits)
  const scan = new MembersScan(written, undefined, Number.POSITIVE_INFINITY)
  scan.run(written.length)
  return { bytes: written, found: scan, spans: scan.spans }
}
