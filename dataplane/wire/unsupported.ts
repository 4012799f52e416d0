/** How a provider says that it cannot do what a parameter of a request asks for. */
import { GatewayError } from '../base/errors.ts'
import { isRecord, listOf, recordOf, rowOf } from '../json/values.ts'

type Json = Readonly<Record<string, unknown>>

/** One candidate cannot take the request; another may. */
export class Unsupported extends GatewayError {
  /** Members of the request's body, or the place of something inside of one: `messages.0.content`. */
  readonly params: readonly string[]

  constructor(message: string, params: readonly string[]) {
    super('ERR_GW_INVALID_REQUEST', message, { param: params[0] ?? '' })
    this.params = params
  }
}

/** `fix` says what the client can send instead. */
export function unsupported(provider: string, param: string, fix = fixOf(param)): Unsupported {
  return new Unsupported(wordsOf(provider, [param], [fix]), [param])
}

/** Throws where `body` asks for something that the provider cannot do; all members at once. */
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

/** Whether the member's value is the API's own default, which every model fulfils. */
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
 * Wishes that change nothing in what an answer may be. Where a provider has no place for one it is left out, and the
 * trace names it.
 */
const HINTS = [
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

/** All hints but those that the provider has a place for. */
export function hintsExcept(...taken: readonly (typeof HINTS)[number][]): readonly string[] {
  return HINTS.filter((name) => !taken.includes(name))
}

/** The members that a translation has no place for; those that it cannot do have been refused, or ask for nothing. */
export function membersLeftOut(
  body: Json,
  taken: ReadonlySet<string>,
  cannot: readonly string[],
): string[] {
  return Object.keys(body).filter(
    (name) => !taken.has(name) && !cannot.includes(name) && (body[name] ?? null) !== null,
  )
}
