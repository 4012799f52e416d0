/** Translates the settings of a response into members of the inner form. */
import { type Json, listOf, recordOf, textOf } from '../../../json/values.ts'
import type { ResponsesBody } from './shape.ts'

/** Members with the same meaning in both APIs. */
const SAME = [
  'parallel_tool_calls',
  'prompt_cache_key',
  'safety_identifier',
  'service_tier',
  'temperature',
  'top_p',
  'user',
] as const

/** The only wish of `include` that a translated answer grants. */
export const LOGPROBS = 'message.output_text.logprobs'

export function optionsOf(asked: ResponsesBody): Json {
  const { max_output_tokens: limit, top_logprobs: most } = asked
  const effort = textOf(recordOf(asked.reasoning).effort)
  const { format, verbosity } = recordOf(asked.text)
  const response = formatOf(recordOf(format))
  const wantsLogprobs = typeof most === 'number' || listOf(asked.include).includes(LOGPROBS)
  const same = SAME.filter((name) => asked[name] != null).map((name) => [name, asked[name]])
  return {
    ...(limit != null && { max_completion_tokens: limit }),
    ...Object.fromEntries(same),
    ...(effort && { reasoning_effort: effort }),
    ...(textOf(verbosity) && { verbosity }),
    ...(response && { response_format: response }),
    ...(wantsLogprobs && { logprobs: true }),
    ...(typeof most === 'number' && { top_logprobs: most }),
  }
}

function formatOf({ type, name, schema, strict, description }: Json): Json | undefined {
  if (type === 'json_object') return { type }
  if (type !== 'json_schema') return undefined
  const said = textOf(description) && { description }
  const isStrict = typeof strict === 'boolean' && { strict }
  return { type, json_schema: { name, schema, ...isStrict, ...said } }
}
