/** May the texts of the request and of its answer pass? The route's guardrails judge both. */
import { GatewayError } from '../../base/errors.ts'
import type { Presence } from '../../call/presence.ts'
import type { Route } from '../../config/snapshot.ts'
import type { Subject } from '../../guardrails/contract.ts'
import type { Guard, Note } from '../../guardrails/guard.ts'
import type { Guards } from '../../guardrails/guards.ts'
import { judgeInput } from '../../guardrails/input.ts'
import { outputInspector } from '../../guardrails/output.ts'
import { holdsTokens } from '../../guardrails/request-texts.ts'
import { writtenAnew } from '../../guardrails/written-anew.ts'
import type { ModelRequest } from '../../wire/inner-form.ts'
import type { Inspector } from '../../wire/inspection.ts'
import type { Admission } from './admit.ts'
import type { Reply } from './relay.ts'

export interface Guarded {
  /** The request that may go to an upstream. */
  readonly request: ModelRequest
  readonly inspector: Inspector | undefined
  /** Present if guardrails judge the request while an upstream answers it. */
  readonly verdict?: PendingVerdict | undefined
}

/** The verdict of guardrails that run in parallel with an attempt. */
interface PendingVerdict {
  /** Rejects with the error for the client. */
  readonly passed: Promise<unknown>
  /** Drops the verdict because the client has left. */
  readonly leave: () => void
}

interface GuardedRequest {
  readonly requestId: string
  readonly presence: Presence
}

interface GuardAdmission extends Pick<Admission, 'caller' | 'route' | 'totalAt'> {
  /** Names of the guardrails; absent: the guardrails of the route. */
  readonly guardrails?: readonly string[]
}

/** A route that is downgraded to another keeps its guardrails. */
export function guardrailsOf(asked: Route, serving: Route): readonly string[] {
  if (asked === serving) return serving.section.guardrails
  return [...new Set([...asked.section.guardrails, ...serving.section.guardrails])]
}

export async function guard(
  request: ModelRequest,
  { requestId, presence }: GuardedRequest,
  { caller, route, totalAt, guardrails = route.section.guardrails }: GuardAdmission,
  { guards, note }: { readonly guards: Guards; readonly note: Note },
): Promise<Guarded> {
  requireTexts(request, route)
  const chosen = guards.of({ guardrails })
  const { tenant, key } = caller
  const leaving = new AbortController()
  const leave = () => leaving.abort()
  const { signal } = leaving
  const subject = { requestId, tenant, key: key.record.id, model: route.name, signal, totalAt }
  const isRead = chosen.some((one) => one.judges('input'))
  if (isRead && holdsTokens(request)) throw unread(route)
  const inspector = outputInspector(chosen, subject, note)
  const inOrder = chosen.filter(({ section }) => !section.parallel)
  presence.begin({ leave })
  const written = isRead ? await writtenAnew(request, route.name) : request
  const judged = await judgeInput(written, inOrder, subject, note)
  presence.done()
  if (signal.aborted) throw new GatewayError('ERR_GW_STREAM_ABORTED', 'The client left.')
  const beside = chosen.filter(({ section }) => section.parallel)
  if (beside.length === 0) return { request: judged, inspector }
  const passed = judgeBeside(judged, beside, subject, note)
  // The promise may reject before anything awaits it.
  passed.catch(() => undefined)
  return { request: judged, inspector, verdict: { passed, leave } }
}

/** Throws ERR_GW_INVALID_REQUEST if the route's guardrails cannot judge any part of the request. */
export function requireTexts(
  { operation }: Pick<ModelRequest, 'operation'>,
  { name }: Pick<Route, 'name'>,
): void {
  if (operation !== 'transcription') return
  const message = `The guardrails of route "${name}" judge texts and cannot judge a recording; use a route without guardrails.`
  throw new GatewayError('ERR_GW_INVALID_REQUEST', message, { param: 'model' })
}

function unread({ name }: Pick<Route, 'name'>): GatewayError {
  const message = `The guardrails of route "${name}" cannot read lists of token numbers; send texts.`
  return new GatewayError('ERR_GW_INVALID_REQUEST', message)
}

/** None of these guardrails changes the request, so all run at once. */
async function judgeBeside(
  request: ModelRequest,
  guards: readonly Guard[],
  subject: Subject,
  note: Note,
): Promise<void> {
  await Promise.all(guards.map((one) => judgeInput(request, [one], subject, note)))
}

/**
 * The reply of an attempt that runs while the verdict is pending. The client gets nothing before the verdict. A block
 * ends the attempt, and is the answer even if the attempt has failed. Throws what guardrails and attempts throw.
 */
export function cleared(
  verdict: PendingVerdict | undefined,
  presence: Presence,
  attempt: () => Promise<Reply>,
): Promise<Reply> {
  return verdict === undefined ? attempt() : afterVerdict(verdict, presence, attempt)
}

async function afterVerdict(
  { passed, leave }: PendingVerdict,
  presence: Presence,
  attempt: () => Promise<Reply>,
): Promise<Reply> {
  passed.catch((error: Error) => presence.end(error))
  // If the verdict is known already, a blocked request is not sent.
  await undefined
  let reply: Reply
  try {
    reply = await attempt()
  } catch (error) {
    if (presence.state === 'over') leave()
    await passed
    throw error
  }
  if (reply.kind === 'stream') reply.stream.hold()
  presence.begin({ leave })
  try {
    await passed
  } catch (error) {
    if (reply.kind === 'stream') reply.stream.abort('the request was refused')
    throw error
  }
  presence.done()
  return reply
}
