/** Looks up passages for a question, in all stores of a route at the same time. */
import { AuxiliaryError } from '../auxiliaries/auxiliary.ts'
import type { Embeddings } from '../auxiliaries/embeddings.ts'
import type { Clock } from '../base/clock.ts'
import { GatewayError } from '../base/errors.ts'
import type { RetrievalTrace } from '../telemetry/trace/parts.ts'
import type { AskedStore } from '../vector-stores/asked-store.ts'
import type { Found } from '../vector-stores/contract.ts'
import { passageText, sourceOf } from '../vector-stores/payload.ts'
import type { Passage } from './passages.ts'
import type { RetrievalSection, Retriever } from './retrievals.ts'

/** A tenant's question, with the facts of its request. */
export interface Enquiry {
  readonly text: string
  readonly tenant: string
  readonly requestId: string
  /** Monotonic deadline of the request. */
  readonly totalAt: number
  /** Aborts the searches when the client leaves. */
  readonly signal?: AbortSignal
  /** Upstreams that may get the text; absent: all. */
  readonly permitted?: ReadonlySet<string> | undefined
}

export interface Library {
  readonly clock: Clock
  readonly embeddings: Pick<Embeddings, 'embed'>
}

export type Note = (search: RetrievalTrace) => void

/** A passage that has not been counted yet. */
export type FoundPassage = Pick<Passage, 'store' | 'id' | 'score' | 'text' | 'source'>

/** Longer passages are cut, so that they leave room for others. */
const PASSAGE_CHARACTERS_MAX = 65_536

/**
 * The passages of each retriever, nearest first. Throws ERR_GW_AUXILIARY_UNAVAILABLE if one does not answer and its
 * `on_error` is fail.
 */
export async function lookUp(
  enquiry: Enquiry,
  retrievers: readonly Retriever[],
  library: Library,
  note: Note,
): Promise<readonly (readonly FoundPassage[])[]> {
  const vectors = new Map<string, Promise<Float32Array>>()
  const searches = retrievers.map((retriever) => search(retriever, enquiry, library, vectors))
  const outcomes = await Promise.all(searches)
  for (const { trace } of outcomes) note(trace)
  return outcomes.map(({ found, error }, index) => {
    if (error === undefined) return found
    return without(error, retrievers[index] as Retriever)
  })
}

interface Outcome {
  readonly trace: RetrievalTrace
  readonly found: readonly FoundPassage[]
  readonly error?: AuxiliaryError
}

async function search(
  { section, store }: Retriever,
  enquiry: Enquiry,
  library: Library,
  vectors: Map<string, Promise<Float32Array>>,
): Promise<Outcome> {
  const { clock } = library
  const began = clock.now()
  const trace = (outcome: string, reason?: string): RetrievalTrace => {
    const ms = clock.now() - began
    return { name: section.name, store: store.section.name, outcome, ms, ...(reason && { reason }) }
  }
  try {
    const found = await searchStore(store, section.top_k, enquiry, library, vectors)
    return { trace: trace('ok'), found: passagesOf(found, store, section) }
  } catch (error) {
    if (!(error instanceof AuxiliaryError)) throw error
    return { trace: trace(error.outcome, error.message), found: [], error }
  }
}

/** Throws AuxiliaryError. */
export async function searchStore(
  store: AskedStore,
  limit: number,
  { text, tenant, requestId, totalAt, signal, permitted }: Enquiry,
  { clock, embeddings }: Library,
  vectors = new Map<string, Promise<Float32Array>>(),
): Promise<readonly Found[]> {
  const { embedding, timeout_ms } = store.section
  // The checks of the configuration guarantee an embedding.
  if (embedding === undefined) throw new AuxiliaryError('error', 'the store has no embedding')
  const leftMs = () => Math.max(1, Math.min(timeout_ms, totalAt - clock.now()))
  const source = JSON.stringify(embedding)
  const terms = { requestId, timeoutMs: leftMs(), permitted, ...(signal && { signal }) }
  // Stores with the same embedding share one request for it.
  const embedded = vectors.get(source) ?? embeddings.embed(embedding, text, terms)
  vectors.set(source, embedded)
  const vector = await embedded
  return await store.search({ vector, limit, tenant }, leftMs(), signal)
}

export function passagesOf(
  found: readonly Found[],
  store: AskedStore,
  section: Pick<RetrievalSection, 'text_field'> | undefined,
): FoundPassage[] {
  return found.flatMap(({ id, score, payload }) => {
    const text = passageText(payload, section?.text_field)
    if (text === undefined) return []
    const cut = text.slice(0, PASSAGE_CHARACTERS_MAX).toWellFormed()
    return [{ store: store.section.name, id, score, text: cut, source: sourceOf(payload) }]
  })
}

/** The error for a request now, if the store is unreachable and `on_error` is fail. */
export function refusalNow({ section, store }: Retriever, clock: Clock): GatewayError | undefined {
  const isAsked = store.auxiliary.breaker.permits(clock.now())
  return isAsked || section.on_error === 'skip' ? undefined : empty(section, 'it keeps failing')
}

function without({ outcome, message }: AuxiliaryError, { section }: Retriever): readonly [] {
  if (outcome === 'left') throw new GatewayError('ERR_GW_STREAM_ABORTED', 'The client left.')
  if (section.on_error === 'skip') return []
  throw empty(section, message)
}

function empty({ name }: RetrievalSection, reason: string): GatewayError {
  return new GatewayError(
    'ERR_GW_AUXILIARY_UNAVAILABLE',
    `Retrieval "${name}" returned no passages, and the route does not answer without them. Try again later.`,
    { cause: `retrieval ${name}: ${reason}`, retryAfterSeconds: 1 },
  )
}
