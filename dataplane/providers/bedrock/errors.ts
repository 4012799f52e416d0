/** Classifies Bedrock's errors by the names of its exceptions, in answers and in streams. */
import { isRecord, parsed, rowOf, textOf } from '../../json/values.ts'
import type { Failure } from '../../wire/provider.ts'
import { classifyAnswer, malformed, type Recogniser } from '../failures/classify.ts'
import { DAMAGED } from './aws/frames.ts'

const OUR_CREDENTIAL = [
  'AccessDeniedException',
  'ExpiredTokenException',
  'IncompleteSignatureException',
  'InvalidClientTokenId',
  'InvalidSignatureException',
  'MissingAuthenticationTokenException',
  'UnrecognizedClientException',
]

const TOO_LONG = new RegExp(
  [
    'input is too long for requested model|prompt is too long|too many input tokens',
    'maximum context length|exceeds? (?:the )?context (?:limit|length|window)',
  ].join('|'),
  'i',
)

const RECOGNISERS: readonly Recogniser[] = [
  ...OUR_CREDENTIAL.map((type) => ({ class: 'credential', type }) as const),
  { class: 'quota', type: 'ServiceQuotaExceededException' },
  { class: 'quota', status: [429], says: /\bper day\b/i },
  { class: 'overloaded', type: 'ModelNotReadyException' },
  { class: 'context', status: [400], says: TOO_LONG },
  // The configured model does not exist, or requires an inference profile.
  { class: 'missing', status: [400], says: /model identifier is invalid|inference profile/i },
]

/** The statuses of exceptions, which a stream omits. */
const STATUSES: Readonly<Record<string, number>> = {
  AccessDeniedException: 403,
  ConflictException: 400,
  InternalServerException: 500,
  ModelErrorException: 424,
  ModelNotReadyException: 429,
  ModelStreamErrorException: 424,
  ModelTimeoutException: 408,
  ResourceNotFoundException: 404,
  ServiceQuotaExceededException: 400,
  ServiceUnavailableException: 503,
  ThrottlingException: 429,
  ValidationException: 400,
}

export function classify(
  status: number,
  headers: Readonly<Record<string, unknown>>,
  body: Buffer,
): Failure {
  const content = parsed(body.toString('utf8', 0, BODY_LENGTH_MAX))
  const type = isRecord(content)
    ? exceptionIn(headers['x-amzn-errortype'] ?? content.__type)
    : undefined
  if (type === undefined) return classifyAnswer(RECOGNISERS, status, headers, body)
  const named = { ...(content as Readonly<Record<string, unknown>>), type }
  return classifyAnswer(RECOGNISERS, status, headers, Buffer.from(JSON.stringify(named)))
}

/** Classifies an exception in a stream, or in place of a whole answer. */
export function classifyException(data: string): Failure {
  const content = parsed(data)
  const type = exceptionIn(isRecord(content) ? content.__type : undefined)
  if (type === DAMAGED) return malformed("The upstream's stream is damaged.")
  const known = rowOf(STATUSES, type)
  const { status: assumed, ...failure } = classify(known ?? 500, {}, Buffer.from(data))
  return known === undefined ? failure : { ...failure, status: known }
}

const BODY_LENGTH_MAX = 65_536

/**
 * The name in `ThrottlingException:http:...` of a header, `com.amazon#ThrottlingException` of a body, or in a stream.
 */
function exceptionIn(text: unknown): string | undefined {
  const name = /^(?:[\w.]{1,100}#)?(\w{1,100})/.exec(textOf(text) ?? '')?.[1]
  return name && name.charAt(0).toUpperCase() + name.slice(1)
}
