/** An OpenAI-compatible upstream without a model, for trying configurations and for tests. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { chat } from './chat.ts'
import { embeddings } from './embeddings.ts'
import { SimulatedExchange } from './exchange.ts'
import { listModels, renderMetrics, tokenize } from './models.ts'
import { seededRandom } from './random.ts'
import { SimulatedRefusal } from './refusal.ts'
import { Slots } from './slots.ts'
import type { Counts, SimulatorSettings, SimulatorState } from './state.ts'

export interface SimulatorOptions extends Partial<SimulatorSettings> {
  /** 0, the default, chooses a free port. */
  readonly port?: number
  readonly host?: string
  /** Number of requests answered at once; the others wait. */
  readonly slots?: number
}

export interface Simulator {
  /** The origin, without a path. */
  readonly url: string
  readonly port: number
  /** Counts of its past and current requests. */
  state(): Counts & { readonly running: number; readonly waiting: number }
  /** Closes the connections of running requests. */
  stop(): Promise<void>
}

type Handler = (exchange: SimulatedExchange, state: SimulatorState) => void | Promise<void>

const HANDLERS: Readonly<Record<string, Handler>> = {
  'POST /v1/chat/completions': chat,
  'POST /v1/embeddings': embeddings,
  'GET /v1/models': listModels,
  'POST /tokenize': tokenize,
  'GET /health': (exchange) => exchange.send('', 'text/plain'),
  'GET /metrics': (exchange, state) => exchange.send(renderMetrics(state), 'text/plain'),
}

/** Probes and scrapes have no key. */
const OPEN_PATHS = new Set(['/health', '/metrics'])

/** Resolves once it listens; rejects with the system's error if it cannot. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const { host = '127.0.0.1', port = 0 } = options
  const state = createState(options)
  const server = createServer((request, response) => void answer(request, response, state))
  server.listen(port, host)
  await once(server, 'listening')
  // A server on a port has an address of this kind.
  const address = server.address() as AddressInfo
  const shownHost = address.family === 'IPv6' ? `[${host}]` : host
  return {
    url: `http://${shownHost}:${address.port}`,
    port: address.port,
    state: () => ({
      ...state.counts,
      running: state.slots.running,
      waiting: state.slots.waiting,
    }),
    async stop() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

function createState(options: SimulatorOptions): SimulatorState {
  const { seed = 1, model, tokens, apiKey } = options
  return {
    settings: {
      model,
      latencyMs: options.latencyMs ?? 0,
      tokensPerSecond: options.tokensPerSecond ?? Number.POSITIVE_INFINITY,
      tokens,
      errorRate: options.errorRate ?? 0,
      errorStatus: options.errorStatus ?? 500,
      apiKey,
      seed,
      toolCalls: options.toolCalls ?? true,
    },
    slots: new Slots(options.slots ?? Number.POSITIVE_INFINITY),
    counts: { requests: 0, promptTokens: 0, generatedTokens: 0 },
    random: seededRandom(seed),
  }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  state: SimulatorState,
): Promise<void> {
  const exchange = new SimulatedExchange(request, response)
  try {
    const path = (request.url ?? '/').split('?', 1)[0] ?? '/'
    authorize(request, path, state)
    await handlerOf(request.method ?? '', path)(exchange, state)
  } catch (error) {
    // A disconnected client is not an error, and no client waits for an answer.
    if (exchange.left.aborted) return
    if (response.headersSent) response.destroy()
    else
      exchange.refuse(
        error instanceof SimulatedRefusal ? error : new SimulatedRefusal(500, String(error)),
      )
  }
}

function authorize({ headers }: IncomingMessage, path: string, { settings }: SimulatorState): void {
  if (settings.apiKey === undefined || OPEN_PATHS.has(path)) return
  if (headers.authorization === `Bearer ${settings.apiKey}`) return
  throw new SimulatedRefusal(401, 'Incorrect API key provided.', { code: 'invalid_api_key' })
}

function handlerOf(method: string, path: string): Handler {
  const handler = HANDLERS[`${method} ${path}`]
  if (handler !== undefined) return handler
  const isPath = Object.keys(HANDLERS).some((key) => key.endsWith(` ${path}`))
  throw new SimulatedRefusal(isPath ? 405 : 404, `There is no ${method} ${path} here.`)
}
