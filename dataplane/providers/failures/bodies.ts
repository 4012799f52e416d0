/** Reads every known form of an upstream's error body into one form. */
import { isRecord, listOf, parsed, recordOf, textOf } from '../../json/values.ts'

/** The content of an error body. */
export interface ErrorBody {
  readonly message: string | undefined
  readonly type: string | null
  readonly param: string | null
  readonly code: string | null
  /** The HTTP status in the body; an error in a stream has no other status. */
  readonly status: number | undefined
  readonly details: readonly unknown[]
}

/** Bounds all texts. They are shortened after the search for credentials, not before. */
const BODY_LENGTH_MAX = 65_536
/** Members that may contain an HTTP status. */
const STATUS_NAMES = [
  'code',
  'http_status_code',
  'status',
  'statusCode',
  'status_code',
  'raw_status_code',
]
const NOTHING: ErrorBody = {
  message: undefined,
  type: null,
  param: null,
  code: null,
  status: undefined,
  details: [],
}

export function readErrorBody(body: Buffer): ErrorBody {
  const text = body.toString('utf8', 0, BODY_LENGTH_MAX).trim()
  const value = parsed(text)
  if (value !== undefined && value !== null && typeof value === 'object') return readError(value)
  if (text === '') return NOTHING
  return { ...NOTHING, message: /^</.test(text) ? pageTitle(text) : text }
}

/** Whether a JSON object is an error rather than an answer, regardless of the HTTP status. */
export function isError(value: Readonly<Record<string, unknown>>): boolean {
  return Boolean(value.error) || value.object === 'error'
}

export function readError(value: unknown): ErrorBody {
  // Gemini sends a list with one error to requests for a stream.
  const body = recordOf(Array.isArray(value) ? value[0] : value)
  const error = body.error
  if (typeof error === 'string') return { ...readFlat(body), message: error }
  return readFlat(isRecord(error) ? error : body)
}

function readFlat(error: Readonly<Record<string, unknown>>): ErrorBody {
  const own = textOf(error.message) ?? textOf(error.Message) ?? textOf(error.detail)
  // FastAPI lists the refused fields; Mistral puts that list into `message`.
  const refused = listOf(error.detail ?? recordOf(error.message).detail)
  const message = own ?? textOf(refused.map(refusal).join('; '))
  return {
    message,
    // Gemini's `status` is a word; TGI sends `error_type` beside a text.
    type: textOf(error.type) ?? textOf(error.error_type) ?? word(error.status) ?? null,
    param: textOf(error.param) ?? place(refused[0]) ?? null,
    code: codeOf(error.code) ?? codeOf(recordOf(error.details).error_code) ?? null,
    status: statusOf(error),
    details: listOf(error.details),
  }
}

function statusOf(error: Readonly<Record<string, unknown>>): number | undefined {
  for (const name of STATUS_NAMES) {
    const status = Number(codeOf(error[name]) ?? 'none')
    if (Number.isInteger(status) && status >= 400 && status <= 599) return status
  }
  return undefined
}

function codeOf(code: unknown): string | undefined {
  return typeof code === 'number' ? String(code) : textOf(code)
}

function word(status: unknown): string | undefined {
  return typeof status === 'string' && /^[A-Za-z_]+$/.test(status) ? status : undefined
}

function refusal(item: unknown): string {
  const message = textOf(recordOf(item).msg) ?? 'refused'
  const where = place(item)
  return where === undefined ? message : `${where}: ${message}`
}

/** `["body", "messages", 0, "role"]` is `messages.0.role`. */
function place(item: unknown): string | undefined {
  const path = listOf(recordOf(item).loc)
    .map(codeOf)
    .filter((step) => step !== 'body')
  return textOf(path.join('.'))
}

/** Only the title of an HTML page is useful. */
function pageTitle(page: string): string {
  const title = /<title[^>]{0,100}>([^<]{1,200})/i.exec(page)?.[1]?.trim()
  return title
    ? `The upstream answered with a web page: ${title}`
    : 'The upstream answered with a web page.'
}
