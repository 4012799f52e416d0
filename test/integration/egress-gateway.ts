/** A gateway with one route for each given upstream, and requests through it. */
import { aKey } from '../helpers/a-key.ts'
import { startGateway } from '../helpers/gateway-process.ts'

type Fields = Readonly<Record<string, unknown>>

export const CREDENTIAL = 'sk-credential-of-the-upstream'

export interface EgressOptions {
  /** Fields of an upstream by its name; its route has the same name. */
  readonly upstreams: Readonly<Record<string, Fields>>
  /** Fields of `gw`. */
  readonly section?: Fields
  readonly env?: Readonly<Record<string, string>>
}

export interface Answered {
  readonly status: number
  readonly text: string
  /** The code of the error, if the answer is one. */
  readonly code: string | undefined
  readonly message: string
}

export async function startEgressGateway({ upstreams, section, env }: EgressOptions) {
  const key = aKey()
  const names = Object.keys(upstreams)
  const gateway = await startGateway({
    env: { UPSTREAM_KEY: CREDENTIAL, ...env },
    config: {
      apiVersion: 'inference.gw/v1',
      kind: 'GatewayConfig',
      gw: {
        upstreams: names.map((name) => ({
          name,
          // A hosted provider has no probes, so every connection belongs to a request.
          provider: 'openai',
          model: 'served',
          api_key: '${env:UPSTREAM_KEY}',
          // The machine may be slow here; a test of a timeout sets its own.
          timeout_seconds: 60,
          connect_timeout_seconds: 60,
          circuit_breaker: { failure_threshold: 1000 },
          ...upstreams[name],
        })),
        routes: names.map((name) => ({ name, strategy: 'single', primary: name })),
        api_keys: [key.record],
        ...section,
      },
    },
  })
  function send(model: string, more: Fields, own?: Record<string, string>): Promise<Response> {
    return fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key.key}`, 'content-type': 'application/json', ...own },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }], ...more }),
    })
  }
  /** `own`: headers of this request only. */
  async function ask(
    model: string,
    more: Fields = {},
    own?: Record<string, string>,
  ): Promise<Answered> {
    const response = await send(model, more, own)
    const text = await response.text()
    const { code, message = '' } = response.ok ? {} : JSON.parse(text).error
    return { status: response.status, text, code, message }
  }
  /** The text of a stream until it ends or is cut. */
  async function hear(model: string): Promise<string> {
    const response = await send(model, { stream: true })
    const decoder = new TextDecoder()
    let heard = ''
    try {
      for await (const piece of response.body ?? [])
        heard += decoder.decode(piece, { stream: true })
    } catch {
      // A cut may be what the caller waits for.
    }
    return heard
  }
  async function lastTrace() {
    const { adminUrl, adminHeaders: headers } = gateway
    const response = await fetch(`${adminUrl}/traces?limit=1`, { headers })
    return JSON.parse(await response.text()).traces[0]
  }
  const lastAttempt = async () => (await lastTrace()).attempts.at(-1)
  /** The result of the last request's last attempt: `ok`, or the class of its failure. */
  const lastOutcome = async (): Promise<string> => (await lastAttempt()).outcome
  /** The reason of the failure, with addresses and codes that clients do not see. */
  const lastReason = async (): Promise<string> => (await lastAttempt()).reason ?? ''
  /** The refusal itself, as stored in the trace. */
  const lastMessage = async (): Promise<string> => (await lastTrace()).message ?? ''
  return { ...gateway, ask, hear, lastOutcome, lastReason, lastMessage }
}

export const ANSWER = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'served',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
})
