/** Builders of a strategy's arguments, with valid defaults. */

import type { RouteSection } from '../../../dataplane/schema/index.ts'
import { Route } from '../../../dataplane/schema/routes.ts'
import type { Candidate, Choice } from '../../../dataplane/strategies/contract.ts'
import type { ChatBody, ChatRequest } from '../../../dataplane/wire/inner-form.ts'

export function aRoute(section: Record<string, unknown> = {}): RouteSection {
  return Route.parse({ name: 'chat', strategy: 'round_robin', ...section })
}

export function aCandidate(name: string, known: Partial<Candidate> = {}): Candidate {
  return { name, weight: 1, inFlight: 0, reportedQueue: undefined, ...known }
}

export function aRequest(content: unknown, members: Record<string, unknown> = {}): ChatRequest {
  const messages = typeof content === 'string' ? [{ role: 'user', content }] : content
  const body = { model: 'chat', messages, ...members } as ChatBody
  return {
    operation: 'chat',
    wire: 'openai-chat',
    bytes: Buffer.from(JSON.stringify(body)),
    body,
    found: { spans: new Map(), long: new Map(), hasOddNumbers: false, pieceBytes: 0 },
    spans: new Map(),
    choices: 1,
    promptTokensMax: 0,
    stream: false,
    includeUsage: false,
    maxTokens: undefined,
    createdSeconds: 0,
    sparse: false,
  }
}

export function aChoice(given: Partial<Choice<Candidate>> = {}): Choice<Candidate> {
  return {
    route: aRoute(),
    eligible: [aCandidate('a'), aCandidate('b'), aCandidate('c')],
    request: aRequest('hello'),
    turn: 0,
    random: () => 0,
    ...given,
  }
}

export function named(names: string): readonly Candidate[] {
  return [...names].map((name) => aCandidate(name))
}

export function namesOf(order: readonly Candidate[]): string {
  return order.map((candidate) => candidate.name).join('')
}

/** A small generator with a seed, so that a failure can be repeated. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
