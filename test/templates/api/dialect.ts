/** The wire of template's clients: one prompt in, one text out. */

import { invalid } from '../../../dataplane/body/request.ts'
import { recordOf, textOf } from '../../../dataplane/json/values.ts'
import { promptTokensMax } from '../../../dataplane/tokens/count.ts'
import type { Dialect } from '../../../dataplane/wire/dialect.ts'
import type { ChatRequest } from '../../../dataplane/wire/inner-form.ts'
import type { BodyFacts } from '../../../dataplane/wire/reading.ts'

export const dialect: Dialect<'chat'> = {
  wire: 'template',
  operation: 'chat',
  reading: { members: new Set(['max_tokens', 'model', 'prompt']), request: requestOf },
  writeAnswer: ({ choices }) => ({ text: choices[0]?.text ?? '' }),
}

function requestOf(tree: unknown, facts: BodyFacts): ChatRequest {
  const { model, prompt, max_tokens } = recordOf(tree)
  const content = textOf(prompt)
  if (content === undefined) throw invalid('"prompt" must be a text.', 'prompt')
  const maxTokens = typeof max_tokens === 'number' ? max_tokens : undefined
  const messages = [{ role: 'user', content }]
  const body = { model: String(model), messages, ...(maxTokens && { max_tokens: maxTokens }) }
  return {
    ...facts,
    operation: 'chat',
    wire: dialect.wire,
    body,
    stream: false,
    includeUsage: false,
    maxTokens,
    choices: 1,
    promptTokensMax: promptTokensMax(facts.bytes, body),
  }
}
