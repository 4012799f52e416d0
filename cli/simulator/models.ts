/** Models, tokens and gauges as runtimes report them, in vLLM's form. */
import { crc32 } from 'node:zlib'
import { CONTEXT_TOKENS } from './chat.ts'
import type { SimulatedExchange } from './exchange.ts'
import { promptWords, TokenizeRequest, wordsOf } from './request.ts'
import type { SimulatorState } from './state.ts'

/** The name of a simulator that accepts every model name. */
const ANY_MODEL = 'simulated'
const VOCABULARY = 100_000

export function listModels(exchange: SimulatedExchange, { settings }: SimulatorState): void {
  const id = settings.model ?? ANY_MODEL
  const model = { id, object: 'model', created: 0, owned_by: 'gw', max_model_len: CONTEXT_TOKENS }
  exchange.sendJson({ object: 'list', data: [model] })
}

export async function tokenize(exchange: SimulatedExchange): Promise<void> {
  const { prompt, messages = [] } = await exchange.read(TokenizeRequest)
  const words = prompt === undefined ? promptWords(messages) : wordsOf(prompt)
  exchange.sendJson({
    count: words.length,
    max_model_len: CONTEXT_TOKENS,
    tokens: words.map((word) => crc32(word) % VOCABULARY),
    token_strs: null,
  })
}

export function renderMetrics({ slots, counts, settings }: SimulatorState): string {
  const rows = [
    ['num_requests_running', 'gauge', slots.running],
    ['num_requests_waiting', 'gauge', slots.waiting],
    ['prompt_tokens_total', 'counter', counts.promptTokens],
    ['generation_tokens_total', 'counter', counts.generatedTokens],
  ] as const
  const labels = `{engine="0",model_name=${JSON.stringify(settings.model ?? ANY_MODEL)}}`
  const lines = rows.map(
    ([name, type, value]) => `# TYPE vllm:${name} ${type}\nvllm:${name}${labels} ${value}\n`,
  )
  return lines.join('')
}
