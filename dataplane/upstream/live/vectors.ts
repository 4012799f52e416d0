/** The targets of a route whose vectors or scores can be compared. */
import type { UpstreamSettings } from '../../config/snapshot.ts'
import { serves } from '../../translation/pair.ts'
import type { ModelRequest, Operation } from '../../wire/inner-form.ts'
import type { Target } from './targets.ts'

type Targets = readonly Pick<Target, 'settings'>[]

/** Operations whose answers can only be compared within one model. */
type Compared = 'embeddings' | 'rerank'

export function isCompared(operation: Operation): operation is Compared {
  return operation === 'embeddings' || operation === 'rerank'
}

/** The route's model for the operation: that of the first member that supports it. Members with other models are never used. */
export function comparedModel(targets: Targets, operation: Compared): string | undefined {
  const first = targets.find(({ settings }) => serves(settings.provider, operation))
  return first === undefined ? undefined : modelOf(first.settings, operation)
}

export function compares(
  { settings }: Targets[number],
  operation: Compared,
  model: string | undefined,
): boolean {
  return serves(settings.provider, operation) && modelOf(settings, operation) === model
}

/** The request with the expected length of vectors: the configured length, if the client sets none. */
export function expected(request: ModelRequest, { section }: UpstreamSettings): ModelRequest {
  if (request.operation !== 'embeddings' || request.dimensions !== undefined) return request
  return { ...request, dimensions: section.embeddings?.dimensions }
}

function modelOf({ model, section }: UpstreamSettings, operation: Compared): string {
  return operation === 'embeddings' ? (section.embeddings?.model ?? model) : model
}
