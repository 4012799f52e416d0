/** What should the model know? Puts the passages that the route's retrieval finds for the question before it. */

import type { Presence } from '../../call/presence.ts'
import { withMessage } from '../../retrieval/inserted.ts'
import { type FoundPassage, type Library, lookUp, type Note } from '../../retrieval/look-up.ts'
import { dropLowest, keptOf, type Passage } from '../../retrieval/passages.ts'
import { questionOf } from '../../retrieval/question.ts'
import type { Retrievals, Retriever } from '../../retrieval/retrievals.ts'
import { fitted, roomFor } from '../../retrieval/room.ts'
import { messageTokens, textTokens } from '../../retrieval/token-counts.ts'
import type { ContextTrace } from '../../telemetry/trace/parts.ts'
import type { Target } from '../../upstream/live/targets.ts'
import type { ChatRequest } from '../../wire/inner-form.ts'
import type { Admission } from './admit.ts'

export interface Assembled {
  readonly request: ChatRequest
  /** All passages that retrieval found, kept or not. */
  readonly passages: readonly Passage[]
  /** Absent if retrieval found nothing. */
  readonly context?: ContextTrace
  /** Whether prompt, passages and answer fit the target's context window. */
  readonly fits: Admission['fits']
}

export interface Assembling {
  readonly retrievals: Pick<Retrievals, 'of'>
  readonly library: Library
  readonly presence: Presence
  readonly requestId: string
  readonly note: Note
  /** Upstreams that may get the question; undefined: all. */
  readonly permitted: ReadonlySet<string> | undefined
  /** Tokens that passages may not use: `context.reserve_completion_tokens`. */
  readonly reserved: number
}

type SearchAdmission = Pick<
  Admission,
  'caller' | 'route' | 'lane' | 'fits' | 'maxTokens' | 'meter' | 'totalAt'
>

/** Throws ERR_GW_AUXILIARY_UNAVAILABLE if a store does not answer and `on_error` is not skip. */
export async function assemble(
  request: ChatRequest,
  terms: SearchAdmission,
  assembling: Assembling,
): Promise<Assembled> {
  const question = questionOf(request.body)
  const { fits, meter } = terms
  if (question === undefined) return { request, passages: [], fits }
  const retrievers = assembling.retrievals.of(terms.route.section)
  const found = await find(question.text, retrievers, terms, assembling)
  const { targets } = terms.lane
  const counted = found.map((some) => count(some, request, targets))
  const lists = await Promise.all(counted)
  for (const [index, passages] of lists.entries()) {
    const { max_context_tokens: most } = (retrievers[index] as Retriever).section
    if (most !== undefined) dropLowest(passages, most, 'max_context_tokens')
  }
  const passages = lists.flat()
  if (keptOf(passages).length === 0) return { request, passages, fits }
  const needed = request.maxTokens ?? terms.maxTokens ?? 1
  const room = await roomFor(request, targets, { needed, reserved: assembling.reserved })
  const made = await fitted(passages, room.left, (text) => messageTokens(text, request, targets))
  const added = made?.tokens ?? 0
  const context = { ...room.context, added }
  if (made === undefined) return { request, passages, context, fits }
  meter.addedTokens += added
  return {
    request: withMessage(request, made.message, question.at),
    passages,
    context,
    fits: (target) => fits(target) && room.holds(target, added),
  }
}

async function find(
  text: string,
  retrievers: readonly Retriever[],
  { caller, totalAt }: SearchAdmission,
  { library, presence, requestId, note, permitted }: Assembling,
): Promise<readonly (readonly FoundPassage[])[]> {
  const leaving = new AbortController()
  const { signal } = leaving
  presence.begin({ leave: () => leaving.abort() })
  try {
    const enquiry = { text, tenant: caller.tenant, requestId, totalAt, signal, permitted }
    return await lookUp(enquiry, retrievers, library, note)
  } finally {
    presence.done()
  }
}

async function count(
  found: readonly FoundPassage[],
  request: ChatRequest,
  targets: readonly Target[],
): Promise<Passage[]> {
  const tokens = await textTokens(
    found.map(({ text }) => text),
    request,
    targets,
  )
  return found.map((one, index) => ({
    ...one,
    tokens: tokens[index] ?? 0,
    kept: true,
    reason: undefined,
  }))
}
