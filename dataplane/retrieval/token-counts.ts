/** The tokens of texts that are added to a prompt, as the upstreams of a route count them. */

import { PromptTokens } from '../tokens/counter.ts'
import type { Target } from '../upstream/live/targets.ts'
import type { ChatRequest } from '../wire/inner-form.ts'

type Counting = readonly Pick<Target, 'counter'>[]

const NO_BYTES = Buffer.alloc(0)

/** The largest count of a text among the upstreams, each text counted separately. */
export async function textTokens(
  texts: readonly string[],
  request: ChatRequest,
  upstreams: Counting,
): Promise<readonly number[]> {
  const [frame = 0, ...counts] = await Promise.all(
    ['', ...texts].map((text) => messageTokens(text, request, upstreams)),
  )
  return counts.map((tokens) => Math.max(0, tokens - frame))
}

/** The same for a whole message. */
export async function messageTokens(
  content: string,
  request: ChatRequest,
  upstreams: Counting,
): Promise<number> {
  const { model } = request.body
  const body = { model, messages: [{ role: 'user', content }] }
  const tokens = new PromptTokens({ ...request, body, bytes: NO_BYTES, sparse: false })
  await tokens.count(upstreams)
  return tokens.most(upstreams)
}
