/** The one attempt of a copy: its answer is read to the end, and only its facts are kept. */
import type { Subject } from '../../accounts/further/selectors.ts'
import type { Amount } from '../../accounts/store.ts'
import type { Caller } from '../../call/call.ts'
import type { Presence } from '../../call/presence.ts'
import { AttemptQuotas } from '../../limits/attempt-quotas.ts'
import type { ShadowResult } from '../../rollout/shadows.ts'
import type { ShadowSection } from '../../schema/index.ts'
import type { Trace } from '../../telemetry/trace/fields.ts'
import type { Meter } from '../../tokens/meter.ts'
import { type Pair, pairOf } from '../../translation/pair.ts'
import type { Breakage, OpenedStream } from '../../upstream/answer/opened-stream.ts'
import { Attempt } from '../../upstream/attempt/attempt.ts'
import { batchOf } from '../../upstream/attempt/batch.ts'
import { closeEntry, openEntry } from '../../upstream/attempt/entry.ts'
import type { AttemptParts, Outcome } from '../../upstream/attempt/parts.ts'
import { namingCaller } from '../../upstream/credentials/caller.ts'
import { encodeFor } from '../../upstream/encoding/pool-request.ts'
import { type Written, writtenOut } from '../../upstream/encoding/written-out.ts'
import type { Target } from '../../upstream/live/targets.ts'
import { expected } from '../../upstream/live/vectors.ts'
import { Unsupported } from '../../wire/unsupported.ts'
import { type CopiedRequest, Heard } from './heard.ts'

export interface Copied extends CopiedRequest {
  readonly shadow: ShadowSection
  readonly target: Target
  readonly presence: Presence
  readonly meter: Meter
  readonly caller: Caller
  readonly subject: Subject
  /** The part that the copy holds of the limits of its tenant. */
  readonly held: Amount
  /** That of the copy. */
  readonly trace: Trace
}

export interface AnsweredCopy {
  readonly result: ShadowResult
  readonly status: number
  /** Milliseconds from the start of the copy. */
  readonly endedMs: number
  readonly heard: Heard
}

export async function answerOf(copied: Copied): Promise<AnsweredCopy> {
  const { gateway, target, shadow, presence } = copied
  const beganAt = gateway.clock.now()
  const heard = new Heard(shadow.keep_texts)
  const ended = (result: ShadowResult, status: number): AnsweredCopy => {
    return { result, status, endedMs: gateway.clock.now() - beganAt, heard }
  }
  const written = await writtenFor(copied)
  if (written === undefined) return ended('unsupported', 0)
  const quotas = quotasFor(copied)
  try {
    if ((await quotas?.take(target)) !== undefined) return ended('refused', 0)
    if (isOver(presence)) return ended('unavailable', 0)
    const outcome = await asked(copied, written, quotas)
    if (outcome === undefined) return ended('unavailable', 0)
    if (outcome.kind === 'whole') heard.hear(Buffer.from(outcome.body))
    if (outcome.kind === 'stream') {
      const failure = await readOn(outcome.stream, heard, presence)
      if (failure !== undefined) return ended('failed', 499)
    }
    if (isOver(presence)) return ended('unavailable', 0)
    if (outcome.kind === 'failed') return ended('failed', outcome.failure.status ?? 502)
    return ended('ok', 200)
  } finally {
    quotas?.end()
  }
}

/** undefined: the upstream does not support the request. Stored objects are not passed on, so nothing is stored. */
async function writtenFor(copied: Copied): Promise<Written | undefined> {
  const { request, dialect, target, admission, caller } = copied
  const settings = target.state.lessons.over(target.settingsNow ?? target.settings)
  const pair = pairOf(dialect, settings.provider) as Pair
  const drops = admission.route.section.on_unsupported === 'drop'
  const { maxTokens } = admission
  try {
    return await writtenOut(request, () =>
      encodeFor(request, { pair, settings, maxTokens, drops, caller }),
    )
  } catch (error) {
    if (error instanceof Unsupported) return undefined
    throw error
  }
}

/** undefined: no upstream has a quota. */
function quotasFor(copied: Copied): AttemptQuotas | undefined {
  const { active, request, meter, caller, gateway, trace, subject, held } = copied
  const { limits } = active.snapshot
  if (limits.quotas === undefined) return undefined
  const of = { caller: caller.key, subject }
  const asked = { id: trace.request_id, request, limits, held, meter, subject: of }
  return new AttemptQuotas(asked, limits.quotas, gateway)
}

/** undefined: the breaker of the upstream has opened. */
async function asked(
  copied: Copied,
  { request, upstream, pair, calls }: Written,
  quotas: AttemptQuotas | undefined,
): Promise<Outcome | undefined> {
  const { gateway, target, presence, meter, admission, caller, trace, dialect } = copied
  const { name, settings, state } = target
  const now = gateway.clock.now()
  const permit = state.breaker.permit(now)
  if (permit === undefined) return undefined
  const endpoint = state.endpoints?.choose([], undefined, now)
  const entry = openEntry(name, 0, endpoint?.shown)
  trace.attempts.push(entry)
  const metered = meter.begin(name, settings.model)
  quotas?.begin(metered)
  const parts: AttemptParts = {
    request: expected(request, settings),
    ...{ pair, upstream, target, permit, endpoint, metered, gateway },
    maxTokens: admission.maxTokens,
    totalAt: now + admission.route.timeoutMs,
    hasBlamed: false,
  }
  const one = calls === undefined ? new Attempt(parts) : batchOf(parts, calls, dialect)
  presence.begin(one)
  const ids = {
    requestId: trace.request_id,
    clientRequestId: undefined,
    headers: [],
    context: undefined,
  }
  one.send(namingCaller(ids, settings, caller, admission.route.name))
  const outcome = await one.outcome
  presence.done()
  entry.answer = one.facts
  closeEntry(entry, outcome, gateway.clock.now() - now)
  gateway.metrics.attempts.at(name, entry.outcome).value++
  return outcome
}

/** The process ends. */
function isOver({ state }: Presence): boolean {
  return state === 'over'
}

/** Reads the stream to its end. */
function readOn(
  stream: OpenedStream,
  heard: Heard,
  presence: Presence,
): Promise<Breakage | undefined> {
  const { promise, resolve } = Promise.withResolvers<Breakage | undefined>()
  presence.begin({ leave: () => stream.leave(() => resolve(undefined)) })
  stream.flowTo({
    write: (bytes) => {
      heard.hear(bytes)
      return true
    },
    finish: (failure) => {
      presence.done()
      resolve(failure)
    },
  })
  return promise
}
