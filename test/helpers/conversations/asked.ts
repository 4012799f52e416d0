/** One request through the gateway's two wires, up to the bytes for the upstream. */
import { GatewayError } from '../../../dataplane/base/errors.ts'
import { parseRequest } from '../../../dataplane/body/request.ts'
import { PROVIDERS } from '../../../dataplane/providers/index.ts'
import { type Pair, pairOf } from '../../../dataplane/translation/pair.ts'
import type { ModelRequest } from '../../../dataplane/wire/inner-form.ts'
import type { Provider } from '../../../dataplane/wire/provider.ts'
import { settingsOf } from '../providers/a-request.ts'
import type { Sent } from '../vendors/rules/contract.ts'
import { CLIENTS, CURSOR, type Served } from './client/index.ts'
import type { Conversation } from './model.ts'
import { UPSTREAMS } from './upstream/index.ts'

const SECONDS = 1_767_323_045

export interface Wire {
  readonly client: Served
  readonly provider: Provider
  readonly pair: Pair
  readonly tenant: string
}

export function wireOf(api: string, name: string, tenant: string, isNative = false): Wire {
  const client = [...CLIENTS, CURSOR].find((one) => one.name === api)
  const provider = PROVIDERS.get(UPSTREAMS[name]?.provider ?? name)
  const native = isNative ? [client?.dialect.wire ?? ''] : undefined
  const pair = client && provider && pairOf(client.dialect, provider, native)
  if (client === undefined || provider === undefined || pair === undefined)
    throw new Error(`No wire from ${api} to ${name}.`)
  return { client, provider, pair, tenant }
}

export type Went =
  | {
      readonly request: ModelRequest
      /** The client's text. */
      readonly text: string
      readonly sent: Sent
      readonly body: string
      /** The parts that a header names. */
      readonly named: readonly string[]
    }
  | { readonly text: string; readonly refused: string }

/** The client's form, then the upstream's; or the gateway's refusal. */
export function send(wire: Wire, conversation: Conversation, stream: boolean): Went {
  const { client, pair, tenant, provider } = wire
  const text = client.write(conversation, stream)
  const settings = settingsOf(provider.name, {
    model: conversation.model,
    region: 'eu-west-1',
    deployment: provider.name === 'azure_openai' ? conversation.model : undefined,
    apiVersion: provider.name === 'azure_openai' ? '2026-01-01' : undefined,
  })
  try {
    const request = parseRequest(Buffer.from(text), client.dialect.reading, SECONDS) as ModelRequest
    request.tenant = tenant
    if (conversation.isAutoMarked) request.isAutoMarked = true
    const named = pair.lost?.(request, settings) ?? []
    const {
      path,
      headers,
      body,
      rest = [],
      leftOut = [],
      lost = [],
    } = pair.encode(request, settings, undefined)
    const bytes = Buffer.concat([Buffer.from(body as string), ...rest])
    const sent = { path: `/v1${path}`, headers, body: JSON.parse(bytes.toString()) }
    return { request, text, sent, body: bytes.toString(), named: [...named, ...leftOut, ...lost] }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return { text, refused: `${error.code} ${error.details.param ?? ''}: ${error.message}` }
  }
}
