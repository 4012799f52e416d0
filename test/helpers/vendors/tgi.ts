/** TGI: chat completions with strict types; unknown members are ignored. */
import { type Checker, entries } from './rules/contract.ts'
import { checkChat } from './rules/openai-chat.ts'
import { checkCompletion } from './rules/operations.ts'

const TEXTS = { several: true, stopIsList: true }

const RULES = {
  roles: 'system user assistant tool',
  callId: /./s,
  name: /./s,
  idsMayRepeat: true,
}

export const tgi: Checker = ({ path, body }, c) => {
  if (/^(?:\/v1)?\/completions$/.test(path)) checkCompletion(body, TEXTS, c)
  if (!path.includes('/chat/completions')) return
  checkChat(body, RULES, c)
  const { max_tokens: limit, max_completion_tokens: other, stop, top_p: topP } = body
  c.demand(
    limit === undefined || other === undefined,
    'limit-twice',
    'max_tokens',
    'duplicate field',
  )
  c.demand(stop === undefined || Array.isArray(stop), 'stop', 'stop', 'It must be a list.')
  c.demand(topP == null || (topP > 0 && topP < 1), 'range', 'top_p', 'It must be within 0 and 1.')
  c.demand(body.logit_bias === undefined, 'logit-bias', 'logit_bias', 'A list of floats.')
  const format = body.response_format
  c.demand(
    format?.type !== 'json_schema' || format.value !== undefined,
    'format',
    'response_format',
    'value',
  )
  c.demand(
    format?.value === undefined || entries(body.tools).length === 0,
    'format',
    'response_format',
    'Grammar and tools are mutually exclusive.',
  )
  for (const [index, { content, tool_calls: calls }] of entries(body.messages)) {
    const both = content != null && content !== '' && entries(calls).length > 0
    c.demand(!both, 'content-and-calls', `messages[${index}]`, 'The calls beside content are lost.')
  }
}
