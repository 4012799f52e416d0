/** The error of a provider that does not support a parameter of a request. */
import { GatewayError } from '../base/errors.ts'
import { isRecord, type Json, listOf, recordOf, rowOf } from '../json/values.ts'

/** One candidate does not support the request; another one may. */
export class Unsupported extends GatewayError {
  /** Members of the request's body, or a path inside of one: `messages.0.content`. */
  readonly params: readonly string[]

  constructor(message: string, params: readonly string[]) {
    super('ERR_GW_INVALID_REQUEST', message, { param: params[0] ?? '' })
    this.params = params
  }
}

/** `fix`: what the client can send instead. */
export function unsupported(provider: string, param: string, fix = fixOf(param)): Unsupported {
  return new Unsupported(wordsOf(provider, [param], [fix]), [param])
}

/** Throws one error for all members of `body` that the provider does not support. */
export function refuseUnsupported(
  provider: string,
  body: Json,
  cannot: readonly string[] | undefined,
): void {
  const asked = cannot?.filter((name) => name in body && !asksForNothing(name, body)) ?? []
  if (asked.length === 0) return
  throw new Unsupported(wordsOf(provider, asked, asked.map(fixOf)), asked)
}

function wordsOf(provider: string, params: readonly string[], fixes: readonly string[]): string {
  const names = params.map((param) => `"${param}"`).join(', ')
  return `The provider of this model, ${provider}, does not support ${names}: ${fixes.join('; ')}.`
}

function fixOf(param: string): string {
  return param === 'n' ? 'send n: 1' : `leave ${param} out`
}

/** Whether the member has the API's default value, which every model supports. */
function asksForNothing(name: string, body: Json): boolean {
  const value = body[name]
  return (value ?? null) === null || rowOf(DEFAULTS, name)?.(value, body) === true
}

type IsDefault = (value: unknown, body: Json) => boolean

const isFalse: IsDefault = (value) => value === false
const isZero: IsDefault = (value) => value === 0
const isOne: IsDefault = (value) => value === 1
const isEmptyList: IsDefault = (value) => Array.isArray(value) && value.length === 0
const isUnforced: IsDefault = (value) => value === 'auto' || value === 'none'

const DEFAULTS: Readonly<Record<string, IsDefault>> = {
  best_of: (value, body) => value === (body.n ?? 1),
  echo: isFalse,
  frequency_penalty: isZero,
  function_call: isUnforced,
  functions: isEmptyList,
  logit_bias: (value) => isRecord(value) && Object.keys(value).length === 0,
  logprobs: isFalse,
  modalities: (value) => Array.isArray(value) && value.every((one) => one === 'text'),
  n: isOne,
  parallel_tool_calls: (value, body) => value === true || listOf(body.tools).length === 0,
  presence_penalty: isZero,
  response_format: (value) => recordOf(value).type === 'text',
  stop: isEmptyList,
  suffix: (value) => value === '',
  temperature: isOne,
  tool_choice: (value, body) => value === 'auto' || listOf(body.tools).length === 0,
  tools: isEmptyList,
  top_logprobs: isZero,
  top_p: isOne,
}

/**
 * Parameters that do not change which answers are valid. If a provider does not support one, the gateway omits it and
 * names it in the trace.
 */
export const HINTS = [
  'metadata',
  'prediction',
  'prompt_cache_key',
  'prompt_cache_retention',
  'reasoning_effort',
  'safety_identifier',
  'seed',
  'service_tier',
  'store',
  'user',
  'verbosity',
] as const

/** All hints except those that the provider supports. */
export function hintsExcept(...taken: readonly (typeof HINTS)[number][]): readonly string[] {
  return HINTS.filter((name) => !taken.includes(name))
}

/** The members that a translation omits; unsupported ones were refused before, or have no effect. */
export function membersLeftOut(
  body: Json,
  taken: ReadonlySet<string>,
  cannot: readonly string[],
): string[] {
  return Object.keys(body).filter(
    (name) => !taken.has(name) && !cannot.includes(name) && (body[name] ?? null) !== null,
  )
}
