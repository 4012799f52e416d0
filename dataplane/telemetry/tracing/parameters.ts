/**
 * Parameters of a request in the spans of its attempts. Only numbers and words of fixed lists: stop sequences are texts
 * of the client, so spans omit them.
 */
import { LARGE_BYTES } from '../../base/heavy-work.ts'
import { rowOf, valueBelow } from '../../json/values.ts'
import type { ModelRequest } from '../../wire/inner-form.ts'
import { NAMES } from './names.ts'
import type { AttributeValue, Key } from './writer.ts'

/** Members of the inner form. */
export type Parameters = Readonly<Record<string, unknown>>

const NUMBERS = {
  temperature: NAMES.temperature,
  top_p: NAMES.topP,
  frequency_penalty: NAMES.frequencyPenalty,
  presence_penalty: NAMES.presencePenalty,
} as const

const LEVELS: ReadonlySet<unknown> = new Set('none minimal low medium high xhigh max'.split(' '))

/** By the type of `response_format`. */
const OUTPUTS = { text: 'text', json_object: 'json', json_schema: 'json' } as const

/**
 * Reads the parameters later, because most traces are not kept. Copies the parameters of a large body, because its
 * tree will be released.
 */
export function parametersOf({ body, bytes }: ModelRequest): Parameters {
  if (bytes.length <= LARGE_BYTES) return body
  const whole: Parameters = body
  const { seed, reasoning_effort, response_format } = whole
  const numbers = Object.keys(NUMBERS).map((name) => [name, whole[name]])
  const type = valueBelow(response_format, 'type')
  return { ...Object.fromEntries(numbers), seed, reasoning_effort, response_format: { type } }
}

export function* attributesOf(asked: Parameters): Generator<readonly [Key, AttributeValue]> {
  for (const [name, key] of Object.entries(NUMBERS)) {
    const value = asked[name]
    if (typeof value === 'number') yield [key, { decimal: value }]
  }
  const { seed, reasoning_effort: level, response_format: format } = asked
  // Runtimes treat a negative seed as none.
  if (Number.isSafeInteger(seed) && Number(seed) >= 0) yield [NAMES.seed, Number(seed)]
  if (LEVELS.has(level)) yield [NAMES.reasoningLevel, String(level)]
  const output = rowOf(OUTPUTS, String(valueBelow(format, 'type')))
  if (output !== undefined) yield [NAMES.outputType, output]
}
