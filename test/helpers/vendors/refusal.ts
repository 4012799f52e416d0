/** The vendor that serves a path, and its answer to a request that it refuses. */
import { complaintsOf, type Vendor } from './index.ts'
import type { Json, Sent } from './rules/contract.ts'
import { KNOWN } from './rules/known-faults.ts'

export interface Refusal {
  readonly status: number
  readonly body: Json
}

/** undefined: the path belongs to several vendors, which differ. */
export function vendorAt({ path, headers = {} }: Sent): Vendor | undefined {
  if (/:(stream)?generateContent/i.test(path)) return 'gemini'
  if (/\/converse(-stream)?$/.test(path)) return 'bedrock'
  if (/\/api\/chat$/.test(path)) return 'ollama'
  if (/\/v2\/chat$/.test(path)) return 'cohere'
  if (/\/messages(\?|$)/.test(path)) return 'anthropic-version' in headers ? 'anthropic' : undefined
  if (/\/openai\/.*(\/chat\/completions|\/responses)/.test(path)) return 'azure_openai'
  return /(\/chat\/completions|\/responses)(\?|$)/.test(path) ? 'openai' : undefined
}

/** undefined: the vendor accepts it, or refuses it for a known fault. */
export function refusalBy(vendor: Vendor, sent: Sent): Refusal | undefined {
  const complaints = complaintsOf(vendor, sent)
  const [first, ...more] = complaints.filter(({ rule }) => !(`request: ${rule}` in KNOWN))
  if (first === undefined) return undefined
  const others = more.length === 0 ? '' : ` (and ${more.length} more)`
  const message = `${vendor} refuses this [${first.rule}] at ${first.at}: ${first.message}${others}`
  if (vendor === 'triton' && sent.path.includes('/generate'))
    return { status: 400, body: { error: message } }
  const status = ['triton', 'tgi', 'mistral'].includes(vendor) ? 422 : 400
  return { status, body: bodyOf(vendor, message, status) }
}

function bodyOf(vendor: Vendor, message: string, code: number): Json {
  const type = 'invalid_request_error'
  if (vendor === 'anthropic') return { type: 'error', error: { type, message } }
  if (vendor === 'bedrock' || vendor === 'cohere') return { message }
  if (vendor === 'gemini') return { error: { code, message, status: 'INVALID_ARGUMENT' } }
  if (vendor === 'ollama') return { error: message }
  if (vendor === 'tgi') return { error: message, error_type: 'validation' }
  if (vendor === 'triton') return { detail: message }
  if (vendor === 'mistral') return { object: 'error', message, type, param: null, code: null }
  return { error: { message, type, param: null, code: null } }
}
