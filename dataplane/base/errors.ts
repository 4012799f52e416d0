/** Every way a request can fail. The HTTP answer, the metrics' labels and the docs table use this table. */

interface ErrorRow {
  /** HTTP status of the answer; 0 if the code never answers a request. */
  readonly status: number
  /** `error.type` of OpenAI's envelope. */
  readonly type: string
  /** Sent as `x-should-retry: false` when a repetition cannot succeed; the official SDKs obey it. */
  readonly final: boolean
  readonly when: string
}

export const ERRORS = {
  ERR_GW_INVALID_REQUEST: row(
    400,
    'invalid_request_error',
    'The request is not valid HTTP, JSON or chat completion.',
    true,
  ),
  ERR_GW_CONTEXT_OVERFLOW: row(
    400,
    'invalid_request_error',
    'Prompt tokens plus max_tokens exceed the context window.',
    true,
  ),
  ERR_GW_GUARDRAIL_BLOCKED: row(
    400,
    'invalid_request_error',
    'A guardrail refused the request or the answer.',
    true,
  ),
  ERR_GW_TAG_REQUIRED: row(
    400,
    'invalid_request_error',
    'The request lacks a tag of usage.required_tags, or its value is not valid.',
    true,
  ),
  ERR_GW_AUTH_INVALID_KEY: row(
    401,
    'authentication_error',
    'The key is missing, unknown, revoked, rotated or expired.',
    true,
  ),
  ERR_GW_BUDGET_EXCEEDED: row(
    402,
    'insufficient_quota',
    'The tenant has spent its budget of the window.',
    true,
  ),
  ERR_GW_AUTH_SCOPE_DENIED: row(
    403,
    'permission_error',
    'The key is valid but lacks the scope or the route.',
    true,
  ),
  ERR_GW_ROUTE_NOT_FOUND: row(
    404,
    'not_found_error',
    'No route, alias or path of that name.',
    true,
  ),
  ERR_GW_METHOD_NOT_ALLOWED: row(
    405,
    'invalid_request_error',
    'The path exists, the method does not.',
    true,
  ),
  ERR_GW_REQUEST_TIMEOUT: row(
    408,
    'invalid_request_error',
    'The request was not received in time.',
  ),
  ERR_GW_REQUEST_TOO_LARGE: row(
    413,
    'invalid_request_error',
    'The body is larger than max_request_bytes.',
    true,
  ),
  ERR_GW_UNSUPPORTED_MEDIA_TYPE: row(
    415,
    'invalid_request_error',
    'The body is not application/json in plain UTF-8.',
    true,
  ),
  ERR_GW_UPGRADE_REQUIRED: row(
    426,
    'invalid_request_error',
    'A WebSocket was asked for at a path that has none, or in another version than 13.',
    true,
  ),
  ERR_GW_RATE_LIMIT_LOCAL: row(
    429,
    'rate_limit_error',
    'The tenant exceeded a limit at the gateway.',
  ),
  ERR_GW_UPSTREAM_RATE_LIMIT: row(429, 'rate_limit_error', 'Every upstream tried answered 429.'),
  ERR_GW_HEADERS_TOO_LARGE: row(
    431,
    'invalid_request_error',
    'More than 100 headers, or more than 16 KiB of them.',
    true,
  ),
  ERR_GW_STREAM_ABORTED: row(
    499,
    'api_error',
    'The stream ended after it had begun, or the client left.',
  ),
  ERR_GW_INTERNAL: row(500, 'api_error', 'A mistake of the gateway.'),
  ERR_GW_TOKENIZER_MISMATCH: row(
    500,
    'api_error',
    'The pinned tokenizer revision is not the one served.',
  ),
  ERR_GW_UPSTREAM_ERROR: row(502, 'api_error', 'No upstream tried gave a usable answer.'),
  ERR_GW_UPSTREAM_TLS_VERIFY: row(
    502,
    'api_error',
    "The upstream's certificate could not be verified.",
  ),
  ERR_GW_NO_HEALTHY_UPSTREAM: row(503, 'api_error', 'No upstream of the route is eligible.'),
  ERR_GW_QUEUE_SATURATED: row(
    503,
    'api_error',
    'The upstreams of the route are full and nothing spills.',
  ),
  ERR_GW_LIMITER_UNAVAILABLE: row(
    503,
    'api_error',
    'The shared store is away and fail_open is false.',
  ),
  ERR_GW_AUXILIARY_UNAVAILABLE: row(
    503,
    'api_error',
    'A vector store or guardrail did not answer.',
  ),
  ERR_GW_OVERLOADED: row(503, 'api_error', 'The gateway itself is full or shutting down.'),
  ERR_GW_PROXY_TIMEOUT: row(
    504,
    'api_error',
    'The upstream gave nothing within the effective timeout.',
  ),
  ERR_GW_TTFT_SLO_BREACH: row(
    0,
    '',
    'The time to first token exceeds its objective; an alert, not an answer.',
  ),
  ERR_GW_SECRET_UNRESOLVED: row(
    0,
    '',
    'A reference could not be resolved; the program does not start.',
  ),
} as const satisfies Record<string, ErrorRow>

export type ErrorCode = keyof typeof ERRORS

function row(status: number, type: string, when: string, final = false): ErrorRow {
  return { status, type, final, when }
}

/** Facts that a stage learnt about a request before it refused it, for the trace, the headers and the metrics. */
export interface Learnt {
  /** The model that the client named, as the gateway may show it. */
  readonly model?: string
  /** The route that the answer may name. */
  readonly route?: string
  /** The tenant's limits, by header name. */
  readonly limitHeaders?: Readonly<Record<string, string>>
  /** The limit of the tenant that was reached, by its name in the metrics. */
  readonly limit?: string
  /** The name that has ended, and the headers that say so. */
  readonly sunset?: { readonly name: string; readonly headers: readonly string[] }
}

export interface ErrorDetails {
  /** Member of the request that is at fault, as OpenAI's `param`. */
  readonly param?: string
  /** Further members of the error object: which limit, used, resets_at, upstream_status. */
  readonly facts?: Readonly<Record<string, unknown>>
  /** Whole seconds after which a repetition succeeds. */
  readonly retryAfterSeconds?: number
  /** Status, type and code that differ from the table: an upstream's answer to a client's mistake. */
  readonly status?: number
  readonly type?: string | null
  readonly shownCode?: string | null
  /** True if a repetition cannot succeed, although the table allows one for the code. */
  readonly final?: boolean
  /** An upstream's refusal of a client's mistake: OpenAI's four members and nothing else. */
  readonly passedOn?: boolean
  /** Methods that the path supports, for a request with another one. */
  readonly allow?: string
  /** The protocol that the client must use, if it asked for another one. */
  readonly upgrade?: string
  readonly learnt?: Learnt | undefined
  /** The count of the prompt on which the decision was based, for the trace. */
  readonly counted?: { readonly tokens: number; readonly exact: boolean }
  readonly cause?: unknown
}

/** The error that ends a request. `message` explains what happened and what to do. */
export class GatewayError extends Error {
  readonly code: ErrorCode
  readonly details: ErrorDetails

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, 'cause' in details ? { cause: details.cause } : undefined)
    this.name = 'GatewayError'
    this.code = code
    this.details = details
  }

  get status(): number {
    return this.details.status ?? ERRORS[this.code].status
  }

  get final(): boolean {
    return this.details.final ?? ERRORS[this.code].final
  }
}
