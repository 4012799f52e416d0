/** `POST /v1/chat/completions`: waits for a slot, then sends its answer at its pace. */
import { answerTo, type SimulatedAnswer, tokenLimit } from './answer.ts'
import type { SimulatedExchange } from './exchange.ts'
import { AnswerPace } from './pace.ts'
import { SimulatedRefusal } from './refusal.ts'
import { Chunks, type Identity, STREAM_END, wholeReply } from './reply.ts'
import { promptWords, SimulatedRequest } from './request.ts'
import type { SimulatorState } from './state.ts'

/** Most tokens of prompt and answer together, as in `/v1/models`. */
export const CONTEXT_TOKENS = 131_072

export async function chat(exchange: SimulatedExchange, state: SimulatorState): Promise<void> {
  const request = await exchange.read(SimulatedRequest)
  state.counts.requests += 1
  refuseUnservable(request, state)
  const identity = {
    id: `chatcmpl-${state.counts.requests}`,
    created: Math.floor(Date.now() / 1000),
    model: request.model,
  }
  const isStream = request.stream === true
  // Runtimes send the head of a stream at once, even if the request has to wait.
  if (isStream) exchange.openStream()
  await state.slots.take(exchange.left)
  try {
    const answer = answerTo(request, state.settings)
    state.counts.promptTokens += answer.usage.prompt_tokens
    if (isStream) await say(answer, exchange, state, chunksFor(request, identity))
    else await sayWhole(answer, exchange, state, identity)
  } finally {
    state.slots.free()
  }
}

function chunksFor({ stream_options }: SimulatedRequest, identity: Identity): StreamShape {
  const includeUsage = stream_options?.include_usage === true
  return { chunks: new Chunks(identity, includeUsage), includeUsage }
}

interface StreamShape {
  readonly chunks: Chunks
  readonly includeUsage: boolean
}

/** Throws the error of a runtime, or one that `errorRate` requests. */
function refuseUnservable(request: SimulatedRequest, state: SimulatorState): void {
  refuseModel(request.model, state)
  const prompt = promptWords(request.messages).length
  const wanted = prompt + (tokenLimit(request) ?? 0)
  if (wanted > CONTEXT_TOKENS) {
    const message = `This model's maximum context length is ${CONTEXT_TOKENS} tokens; ${wanted} were requested.`
    throw new SimulatedRefusal(400, message, { code: 'context_length_exceeded', param: 'messages' })
  }
  refuseSome(state)
}

export function refuseModel(model: string, { settings }: SimulatorState): void {
  if (settings.model === undefined || model === settings.model) return
  const message = `The model \`${model}\` does not exist; here is ${settings.model}.`
  throw new SimulatedRefusal(404, message, { code: 'model_not_found', param: 'model' })
}

export function refuseSome({ settings, random }: SimulatorState): void {
  if (random() >= settings.errorRate) return
  const message = 'The simulator is configured to fail at times.'
  throw new SimulatedRefusal(settings.errorStatus, message, { code: 'simulated_error' })
}

async function sayWhole(
  answer: SimulatedAnswer,
  exchange: SimulatedExchange,
  { settings, counts }: SimulatorState,
  identity: Identity,
): Promise<void> {
  const pace = new AnswerPace(settings)
  const longest = Math.max(...answer.choices.map(({ pieces }) => pieces.length))
  await pace.reach(Math.max(0, longest - 1), exchange.left)
  counts.generatedTokens += answer.usage.completion_tokens
  exchange.sendJson(wholeReply(answer, identity))
}

/** All choices advance together, token by token. */
async function say(
  { choices, usage }: SimulatedAnswer,
  exchange: SimulatedExchange,
  { settings, counts }: SimulatorState,
  { chunks, includeUsage }: StreamShape,
): Promise<void> {
  const pace = new AnswerPace(settings)
  await pace.reach(0, exchange.left)
  for (const [index, choice] of choices.entries()) {
    await exchange.write(chunks.opening(choice, index))
  }
  const longest = Math.max(...choices.map(({ pieces }) => pieces.length))
  for (let position = 0; position < longest; position += 1) {
    await pace.reach(position, exchange.left)
    for (const [index, choice] of choices.entries()) {
      const piece = choice.pieces[position]
      if (piece === undefined) continue
      await exchange.write(chunks.piece(choice, index, piece))
      counts.generatedTokens += 1
    }
  }
  for (const [index, choice] of choices.entries()) {
    await exchange.write(chunks.closing(choice, index))
  }
  if (includeUsage) await exchange.write(chunks.usage(usage))
  exchange.response.end(STREAM_END)
}
