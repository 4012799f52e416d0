/**
 * The one declaration of each field of a trace. `npm run generate` and the code of each place derive from it: the line
 * of the log, attributes of spans and records, members of usage events, lines of `gw trace get` and of the console, the
 * docs.
 */
import type { CountedBy } from '../../tokens/counter.ts'
import type { AnswerFacts } from '../../wire/answer-facts.ts'
import type { KeptTexts } from '../kept-texts.ts'
import type { ShownPassage } from '../shown-passage.ts'
import { flag, ms, number, part, type RecordOf, text } from './field.ts'
import type {
  AttemptUsage,
  ContextTrace,
  GuardrailTrace,
  PassedOver,
  RetrievalTrace,
  SemanticTrace,
  WaitTrace,
} from './parts.ts'

/** One try of the request at one upstream. The log shows those of the last attempt. */
export const ATTEMPT_FIELDS = {
  upstream: text({ what: 'the upstream', given: true }),
  endpoint: text({
    what: 'its requested address, if it has several',
    console: 'endpoint',
    optional: true,
  }),
  via: text({
    what: 'the routes that lead to it, if the route has routes among its members',
    tree: 'through',
    console: 'through',
    optional: true,
  }),
  model: text({
    what: 'the model that it was asked for, if the client named it',
    tree: 'model',
    console: 'model',
    optional: true,
  }),
  started_ms: ms({ what: "milliseconds since the request's headers arrived", given: true }),
  ended_ms: ms({ what: 'when its answer could be committed, or it had failed', start: 0 }),
  outcome: text({
    what: '`running`, `ok`, `left`, `refused` by an inspector, or the class of the failure',
    start: 'running',
  }),
  status: number({ what: 'HTTP status of a failure' }),
  reason: text({ what: 'words of a failure' }),
  upstream_request_id: text({
    what: "the upstream's id of the request",
    in: ['log'],
    tree: 'request id of the upstream',
    console: "the upstream's id",
  }),
  upstream_limits: part<Readonly<Record<string, string>>>()({
    what: "the upstream's own rate limits, by header name",
    in: ['log'],
    tree: 'limits of the upstream',
  }),
  dropped: part<readonly string[]>()({
    what: 'parameters that the upstream does not support, and the route drops',
    in: ['log'],
    tree: 'dropped, because it does not support them',
    console: 'dropped',
  }),
  left_out: part<readonly string[]>()({
    what: 'hints and members of other APIs that the upstream does not support',
    in: ['log'],
    tree: 'left out, because it does not support them',
    console: 'left out',
  }),
  api_key: number({
    what: 'the index of the key that it carried, if its upstream has several',
    tree: 'index of the key',
    console: 'index of the key',
    optional: true,
  }),
  parameters: part<readonly string[]>()({
    what: 'parameters that the gateway set for the upstream, by default or by force',
    in: ['log'],
    tree: 'parameters that the gateway set',
    console: 'set by the gateway',
    optional: true,
  }),
  span_id: text({ what: "its span, the parent of the upstream's work" }),
  answer: part<AnswerFacts>()({
    what: 'id, model and finish reasons of the answer; those of a stream grow while it flows',
  }),
  usage: part<AttemptUsage>()({ what: 'its tokens and their cost, if it used any' }),
} as const

export type AttemptTrace = RecordOf<typeof ATTEMPT_FIELDS>

/** In the order of the log. */
export const TRACE_FIELDS = {
  request_id: text({
    what: "the gateway's id of the request",
    given: true,
    in: ['log', 'span', 'record', 'event'],
  }),
  time: text({ what: 'when its headers arrived, ISO 8601', given: true }),
  method: text({ what: 'HTTP method', given: true, in: ['log'] }),
  path: text({ what: 'path and query', given: true, in: ['log'] }),
  tenant: text({ what: 'tenant of the caller', in: ['log', 'span', 'record'] }),
  key: text({
    what: 'id of the key',
    in: ['log', 'span', 'record', 'event'],
    attribute: 'gw.key_id',
  }),
  tags: text({
    what: 'tags of the key and the client that the configuration declares: `team=blue,feature=search`',
  }),
  operation: text({
    what: '`none` if no model was asked',
    start: 'none',
    in: ['event'],
    attribute: 'gen_ai.operation.name',
  }),
  model: text({ what: 'the model that the client asked for', in: ['log'] }),
  deprecated: text({
    what: 'the deprecated route or alias by which the client asked for it',
    in: ['log'],
    tree: 'asked by a deprecated name',
    console: 'deprecated name',
  }),
  route: text({
    what: 'the route it resolved to',
    start: 'none',
    in: ['log', 'span', 'record', 'event'],
  }),
  strategy: text({ what: 'the strategy of the route', in: ['span'] }),
  upstream: text({
    what: 'the upstream that answered, or the last one that was tried',
    start: 'none',
    in: ['log', 'record'],
  }),
  status: number({
    what: 'status of the answer; 0 if the client left before it, 499 if it left later',
    start: 0,
    in: ['log', 'span', 'record'],
    attribute: 'http.response.status_code',
  }),
  code: text({ what: 'code of the error', in: ['log', 'span', 'record'] }),
  stream: flag({ what: 'whether a stream was asked for', in: ['log'] }),
  choices: number({ what: 'the number of requested answers, if more than one' }),
  max_tokens: number({ what: 'the most tokens that one answer may have' }),
  attempts: part<AttemptTrace[]>()({ what: 'each try at an upstream', start: [], in: ['log'] }),
  passed_over: part<readonly PassedOver[]>()({ what: 'upstreams that were not tried, and why' }),
  waits: part<WaitTrace[]>()({ what: 'waits for upstreams that had no server, or no free place' }),
  guardrails: part<GuardrailTrace[]>()({ what: 'verdicts of guardrails, in their order' }),
  semantic: part<SemanticTrace>()({ what: 'the judgement of the strategy semantic' }),
  retrieval: part<readonly RetrievalTrace[]>()({ what: 'searches of vector stores' }),
  passages: part<readonly ShownPassage[]>()({ what: 'the passages that they found' }),
  context: part<ContextTrace>()({ what: 'the room for passages, in tokens' }),
  duration_ms: ms({ what: 'from the headers to the end', start: 0, in: ['log', 'record'] }),
  body_ms: ms({ what: 'how long the body took to arrive', start: 0 }),
  ttft_ms: ms({
    what: 'from the headers to the first content of a stream',
    in: ['log', 'span', 'record'],
  }),
  counted_tokens: number({
    what: 'tokens of the prompt as the gateway needed them: counted, estimated, or reported if an upper bound was enough',
  }),
  counted_exact: flag({ what: 'whether they are exact' }),
  counted_by: part<CountedBy>()({ what: 'the counter of these tokens' }),
  prompt_tokens: number({ what: 'used tokens of the prompt', in: ['log'] }),
  completion_tokens: number({ what: 'used tokens of the answers', in: ['log'] }),
  usage_estimated: flag({ what: 'whether some of these tokens are estimated', in: ['log'] }),
  cache_saved_nano_usd: number({
    what: 'nano-dollars that prompt caches saved; negative if more was written than read',
    in: ['log', 'span', 'record'],
    tree: 'nano-dollars that caches saved',
  }),
  message: text({
    what: "text of the error; in the log, `reason` has that of an upstream's failure",
    in: ['log'],
    logged: 'reason',
  }),
  client_request_id: text({
    what: "the client's id of it, from `X-Request-Id`",
    in: ['log'],
    tree: 'request id of the client',
    console: "the client's",
  }),
  session_id: text({
    what: "the client's id of its session: the same for a request that an agent repeats",
    in: ['log'],
    tree: 'session of the client',
  }),
  trace_id: text({
    what: 'id of the W3C trace',
    in: ['log'],
    tree: 'trace id',
    console: 'trace',
  }),
  traceparent: text({ what: 'W3C trace context as received', in: ['log'] }),
  tracestate: text({ what: 'the state received with it', in: ['log'] }),
  span_id: text({ what: 'the span of the request, if OpenTelemetry is on' }),
  trace_flags: number({ what: 'the flags of its trace' }),
} as const

/** Not a field: JSON, and so logs and lists of traces, omit symbols. */
export const TEXTS = Symbol('texts of the prompt, if the route keeps them')

/** The decisions on one request. Stages fill it in; every field exists from the start. */
export type Trace = RecordOf<typeof TRACE_FIELDS> & { [TEXTS]: KeptTexts | undefined }
