/** Rules of requests for texts, vectors and rankings, which are not conversations. */
import { type Complaints, entries, type Json } from './contract.ts'

interface TextRules {
  /** Members of the body; undefined: unknown ones are ignored. */
  readonly members?: string
  /** Whether lists of tokens are read as such. */
  readonly tokens?: boolean
  /** Whether a list of several texts is read. */
  readonly several?: boolean
  readonly stopIsList?: boolean
}

export const OPENAI_TEXT =
  'model prompt best_of echo frequency_penalty logit_bias logprobs max_tokens n presence_penalty seed stop stream stream_options suffix temperature top_p user'
export const OPENAI_VECTORS = 'model input dimensions encoding_format user'

export function checkCompletion(body: Json, rules: TextRules, c: Complaints): void {
  if (rules.members !== undefined) c.knows(body, rules.members, 'body')
  checkInputs(body.prompt ?? '', rules, 'prompt', c)
  c.range(body.n, [1, 128], 'n')
  c.range(body.logprobs, [0, 5], 'logprobs')
  const isStreamed = body.stream_options == null || body.stream === true
  c.demand(isStreamed, 'stream-options', 'body', 'stream_options without a stream')
  if (rules.stopIsList)
    c.demand(body.stop === undefined || Array.isArray(body.stop), 'stop', 'stop', 'It is a list.')
}

export function checkVectors(body: Json, rules: TextRules, c: Complaints): void {
  if (rules.members !== undefined) c.knows(body, rules.members, 'body')
  checkInputs(body.input, { several: true, ...rules }, 'input', c)
  c.demand(entries(body.input).length <= 2_048, 'many', 'input', 'at most 2048')
}

function checkInputs(value: Json, rules: TextRules, at: string, c: Complaints): void {
  if (typeof value === 'string') return
  c.demand(Array.isArray(value) && value.length > 0, 'inputs', at, 'a text or a list')
  const isTokens = typeof value?.[0] !== 'string'
  c.demand(!isTokens || rules.tokens === true, 'tokens', at, 'These are no texts.')
  c.demand(rules.several === true, 'several', at, 'One text alone.')
}

export function checkTexts(texts: Json, most: number, at: string, c: Complaints): void {
  const list = entries(texts)
  c.demand(list.length > 0 && list.length <= most, 'many', at, `from 1 to ${most} texts`)
  for (const [index, text] of list)
    c.demand(typeof text === 'string' && text !== '', 'text-type', `${at}[${index}]`, 'a text')
}

export function checkRerank(body: Json, members: string | undefined, c: Complaints): void {
  if (members !== undefined) c.knows(body, members, 'body')
  c.demand(typeof body.query === 'string', 'query', 'query', 'a text')
  checkTexts(body.documents, 10_000, 'documents', c)
  c.range(body.top_n, [1, 4_294_967_295], 'top_n')
}
