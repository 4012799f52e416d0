/** The usage of a transcription: tokens, or the seconds of sound. */

import { countOf, type Json, recordOf } from '../../json/values.ts'
import type { Usage } from '../../wire/inner-form.ts'
import { tokensOf } from './seconds.ts'

/** No recording within the body limit lasts a month. */
const SECONDS_MAX = 2_592_000

/** The same member in a whole answer and in the last stream event; undefined if it is missing. */
export function usageOf({ usage, duration }: Json): Usage | undefined {
  const { input_tokens, prompt_tokens, output_tokens, completion_tokens, seconds } = recordOf(usage)
  const prompt = countOf(input_tokens) ?? countOf(prompt_tokens)
  if (prompt !== undefined)
    return usageWith(prompt, countOf(output_tokens) ?? countOf(completion_tokens) ?? 0)
  const heard = secondsOf(seconds) ?? secondsOf(duration)
  return heard === undefined ? undefined : usageWith(tokensOf(heard), 0)
}

function usageWith(promptTokens: number, completionTokens: number): Usage {
  const others = { cachedTokens: 0, reasoningTokens: 0 }
  return { promptTokens, completionTokens, ...others, estimated: false }
}

/** Some servers write a duration as text. */
function secondsOf(value: unknown): number | undefined {
  if (typeof value !== 'number' && typeof value !== 'string') return undefined
  const seconds = value === '' ? Number.NaN : Number(value)
  return seconds >= 0 && seconds <= SECONDS_MAX ? seconds : undefined
}
