/** Which targets of a route answer with vectors that compare with each other. */
import type { UpstreamSettings } from '../../config/snapshot.ts'
import type { ModelRequest } from '../../inner-form.ts'
import { serves } from '../../wires.ts'
import type { Target } from './targets.ts'

type Targets = readonly Pick<Target, 'settings'>[]

/** The embedding model of a route: that of the first member with embeddings. Others are never asked for vectors. */
export function vectorsOf(targets: Targets): string | undefined {
  const first = targets.find(({ settings }) => serves(settings.provider, 'embeddings'))
  return first === undefined ? undefined : modelOf(first.settings)
}

export function hasVectors({ settings }: Targets[number], model: string | undefined): boolean {
  return serves(settings.provider, 'embeddings') && modelOf(settings) === model
}

/** The request as its answer is judged: vectors have the configured length where the client asks for none. */
export function expected(request: ModelRequest, { section }: UpstreamSettings): ModelRequest {
  if (request.operation !== 'embeddings' || request.dimensions !== undefined) return request
  return { ...request, dimensions: section.embeddings?.dimensions }
}

function modelOf({ model, section }: UpstreamSettings): string {
  return section.embeddings?.model ?? model
}
