/** How hard is the prompt? Scored only if the route has an upstream for easy prompts and one for hard prompts. */

import type { Presence } from '../../call/presence.ts'
import type { Classifiers } from '../../semantic/classifiers.ts'
import { sideOf } from '../../strategies/semantic.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { SemanticTrace } from '../../telemetry/trace/parts.ts'
import type { ModelRequest } from '../../wire/inner-form.ts'
import type { Admission } from './admit.ts'

interface PromptContext {
  readonly requestId: string
  /** Milliseconds until the deadline of the request. */
  readonly leftMs: number
  readonly presence: Presence
  /** Upstreams that may get the prompt; absent: all. */
  readonly permitted?: ReadonlySet<string> | undefined
}

export interface Classifying {
  readonly classifiers: Pick<Classifiers, 'judge'>
  readonly metrics: Pick<Metrics, 'semanticDecisions'>
}

/** The call to an upstream ends when the client leaves. */
export async function classify(
  request: ModelRequest,
  { route }: Pick<Admission, 'route'>,
  { requestId, leftMs, presence, permitted }: PromptContext,
  { classifiers, metrics }: Classifying,
): Promise<SemanticTrace> {
  const { section } = route
  const leaving = new AbortController()
  presence.begin({ leave: () => leaving.abort() })
  const timeoutMs = Math.max(1, leftMs)
  const terms = { requestId, timeoutMs, signal: leaving.signal, permitted }
  const { classifier, score, reason } = await classifiers.judge(section, request, terms)
  presence.done()
  // The schema gives every route of this strategy a threshold.
  const side = sideOf(score, section.semantic?.threshold ?? 0)
  metrics.semanticDecisions.at(route.name, classifier, side).value++
  return { classifier, score, side, ...(reason && { reason }) }
}
