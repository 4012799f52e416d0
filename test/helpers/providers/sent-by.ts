/** A client's request as it is sent to an upstream, and the parts that the gateway names as left out. */
import { GatewayError } from '../../../dataplane/base/errors.ts'
import { parseRequest } from '../../../dataplane/body/request.ts'
import type { ModelRequest } from '../../../dataplane/wire/inner-form.ts'
import type { ProviderSettings } from '../../../dataplane/wire/provider.ts'
import { wireOf } from '../conversations/asked.ts'
import { complaintsOf, type Vendor } from '../vendors/index.ts'
import { bytesOf, settingsOf } from './a-request.ts'

// biome-ignore lint/suspicious/noExplicitAny: read like a vendor reads it.
type Json = any

export interface SentBy {
  readonly path: string
  readonly body: Json
  /** The same as it was written. */
  readonly text: string
  readonly named: readonly string[]
  /** The rules by which the vendor refuses it. */
  readonly complaints: readonly string[]
}

interface Way {
  readonly api: 'chat' | 'messages' | 'responses'
  readonly provider: Vendor
  readonly model?: string
  readonly settings?: Partial<ProviderSettings>
  readonly isNative?: boolean
  readonly tenant?: string
  /** Facts of the request, for a repetition. */
  readonly facts?: Partial<ModelRequest>
}

const SECONDS = 1_767_323_045

/** `members` of the body; a model and a conversation are added where they are missing. */
export function sentBy(
  { api, provider, model = 'model', settings, isNative, tenant = 'tenant', facts }: Way,
  members: Json,
): SentBy {
  const { client, pair, provider: paired } = wireOf(api, provider, tenant, isNative)
  const hi = [{ role: 'user', content: 'Hi' }]
  const body = {
    model: 'route',
    ...(api === 'messages' && { max_tokens: 8192 }),
    ...(api === 'responses' ? { input: hi } : { messages: hi }),
    ...members,
  }
  const read = parseRequest(Buffer.from(JSON.stringify(body)), client.dialect.reading, SECONDS)
  const request = { ...read, tenant, ...facts } as ModelRequest
  const all = settingsOf(paired.name, { model, region: 'eu-west-1', ...settings })
  const lost = pair.lost?.(request, all) ?? []
  const sent = pair.encode(request, all, undefined)
  const path = `/v1${sent.path}`
  const text = bytesOf(sent.body).toString()
  const went = JSON.parse(text)
  return {
    path,
    body: went,
    text,
    named: [...lost, ...(sent.leftOut ?? []), ...(sent.lost ?? [])],
    complaints: complaintsOf(provider, { path, headers: sent.headers, body: went }).map(
      ({ rule, message }) => `${rule}: ${message}`,
    ),
  }
}

/** The parameter that the gateway refuses by name. */
export function refusalOf(way: Way, members: Json): string | undefined {
  try {
    sentBy(way, members)
    return undefined
  } catch (error) {
    if (error instanceof GatewayError) return error.details.param ?? ''
    throw error
  }
}
