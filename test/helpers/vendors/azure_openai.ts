/** Azure OpenAI: OpenAI's rules under its own paths. */
import { checkOpenAiChat, checkOpenAiTexts } from './openai.ts'
import type { Checker } from './rules/contract.ts'
import { checkResponses } from './rules/responses.ts'

export const azure_openai: Checker = ({ path, body }, c) => {
  const isV1 = path.includes('/openai/v1/') || path.startsWith('/v1/')
  c.demand(
    isV1 || /[?&]api-version=/.test(path) || path.startsWith('/chat'),
    'api-version',
    path,
    'api-version',
  )
  if (path.includes('/chat/completions')) checkOpenAiChat(body, c)
  else if (/\/responses(\?|$)/.test(path)) checkResponses(body, c)
  else checkOpenAiTexts(path, body, c)
}
