/**
 * Names of attributes, by the semantic conventions of OpenTelemetry: HTTP of release 1.41, and those for generative AI
 * of November 2026, when all of them were in development. A renamed attribute is changed here.
 */
import { keyOf } from './writer.ts'

/** All names of the gateway begin with `gw.`, so that queries can select or exclude the gateway's spans. */
export const NAMES = {
  method: keyOf('http.request.method'),
  route: keyOf('http.route'),
  path: keyOf('url.path'),
  status: keyOf('http.response.status_code'),
  resends: keyOf('http.request.resend_count'),
  client: keyOf('client.address'),
  agent: keyOf('user_agent.original'),
  protocol: keyOf('network.protocol.version'),
  errorType: keyOf('error.type'),
  serverAddress: keyOf('server.address'),
  serverPort: keyOf('server.port'),
  operation: keyOf('gen_ai.operation.name'),
  provider: keyOf('gen_ai.provider.name'),
  requestModel: keyOf('gen_ai.request.model'),
  requestStream: keyOf('gen_ai.request.stream'),
  maxTokens: keyOf('gen_ai.request.max_tokens'),
  choices: keyOf('gen_ai.request.choice.count'),
  seed: keyOf('gen_ai.request.seed'),
  temperature: keyOf('gen_ai.request.temperature'),
  topP: keyOf('gen_ai.request.top_p'),
  frequencyPenalty: keyOf('gen_ai.request.frequency_penalty'),
  presencePenalty: keyOf('gen_ai.request.presence_penalty'),
  reasoningLevel: keyOf('gen_ai.request.reasoning.level'),
  outputType: keyOf('gen_ai.output.type'),
  responseModel: keyOf('gen_ai.response.model'),
  responseId: keyOf('gen_ai.response.id'),
  finishReasons: keyOf('gen_ai.response.finish_reasons'),
  firstChunk: keyOf('gen_ai.response.time_to_first_chunk'),
  inputTokens: keyOf('gen_ai.usage.input_tokens'),
  outputTokens: keyOf('gen_ai.usage.output_tokens'),
  cacheRead: keyOf('gen_ai.usage.cache_read.input_tokens'),
  cacheWrite: keyOf('gen_ai.usage.cache_write.input_tokens'),
  /** The name of `cacheWrite` until release 1.41, which backends still read. */
  cacheCreation: keyOf('gen_ai.usage.cache_creation.input_tokens'),
  reasoning: keyOf('gen_ai.usage.reasoning.output_tokens'),
  cost: keyOf('gen_ai.usage.cost'),
  gatewayCost: keyOf('gw.cost_usd'),
  estimated: keyOf('gw.usage_estimated'),
  requestId: keyOf('gw.request_id'),
  gateway: keyOf('gw.gateway'),
  tenant: keyOf('gw.tenant'),
  keyId: keyOf('gw.key_id'),
  model: keyOf('gw.model'),
  gatewayRoute: keyOf('gw.route'),
  strategy: keyOf('gw.strategy'),
  attempts: keyOf('gw.attempts'),
  overhead: keyOf('gw.overhead_ms'),
  firstToken: keyOf('gw.ttft_ms'),
  code: keyOf('gw.code'),
  sampled: keyOf('gw.sampled'),
  upstream: keyOf('gw.upstream'),
  attempt: keyOf('gw.attempt'),
  outcome: keyOf('gw.outcome'),
  why: keyOf('gw.why'),
  guardrail: keyOf('gw.guardrail'),
  side: keyOf('gw.side'),
  verdict: keyOf('gw.verdict'),
  duration: keyOf('gw.duration_ms'),
} as const

/** Values of `gen_ai.operation.name`, by operation. */
export const OPERATIONS: Readonly<Record<string, string>> = {
  chat: 'chat',
  completions: 'text_completion',
  embeddings: 'embeddings',
}
