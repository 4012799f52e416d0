/** The upstreams of the matrix: the gateway's configuration for each, and the wire of each. */
import { UPSTREAMS, type Upstream } from '../../helpers/conversations/upstream/index.ts'
import {
  streamResponses,
  wholeResponses,
} from '../../helpers/conversations/upstream/say-responses.ts'
import type { Vendor } from '../../helpers/strict-vendors.ts'

type Voice = Pick<Upstream, 'read' | 'whole' | 'stream'>

export interface Column {
  /** The name on the page. */
  readonly title: string
  readonly vendor: Vendor
  /** Members of its configuration. */
  readonly settings: Readonly<Record<string, unknown>>
  readonly mediaType: string
  /** The path of a streamed answer, if the body does not ask for a stream. */
  readonly streamPath?: RegExp
  /** The prefixes of its call ids; empty if it sends no ids. */
  readonly ids: string
  /** undefined: it thinks if the request asks for it. */
  readonly thinks: boolean | undefined
  readonly signature?: string
  /** The wire at a path of requests. */
  readonly voiceAt: (path: string) => Voice
}

const EVENTS = 'text/event-stream'
const SIGNATURE = Buffer.from('signed by the scripted model').toString('base64')

function column(
  vendor: Vendor,
  model: string,
  { settings, ...more }: Partial<Column> = {},
): Column {
  return {
    title: vendor,
    vendor,
    mediaType: EVENTS,
    ids: 'call_',
    thinks: undefined,
    voiceAt: () => UPSTREAMS[vendor] as Upstream,
    ...more,
    settings: { provider: vendor, model, ...settings },
  }
}

const CHAT: Voice = UPSTREAMS.openai as Upstream
const RESPONSES: Voice = { ...CHAT, whole: wholeResponses, stream: streamResponses }

export const COLUMNS: readonly Column[] = [
  column('openai', 'gpt-4.1', { title: 'openai, chat', settings: { native: [] }, thinks: false }),
  column('openai', 'gpt-5.6', {
    title: 'openai, responses',
    thinks: false,
    // The gateway sends a chat without tools as it is.
    voiceAt: (path) => (path.endsWith('/responses') ? RESPONSES : CHAT),
  }),
  column('anthropic', 'claude-opus-4-8', { ids: 'toolu_', signature: SIGNATURE }),
  column('bedrock', 'us.anthropic.claude-opus-4-8-v1:0', {
    settings: { region: 'eu-west-1' },
    mediaType: 'application/vnd.amazon.eventstream',
    streamPath: /\/converse-stream$/,
    ids: 'tooluse_',
    signature: SIGNATURE,
  }),
  column('gemini', 'gemini-3-pro-preview', {
    streamPath: /:streamGenerateContent/,
    ids: '',
    thinks: true,
    signature: SIGNATURE,
  }),
  column('vllm', 'qwen', { ids: 'chatcmpl-tool-', thinks: true }),
  column('ollama', 'qwen3', { mediaType: 'application/x-ndjson', ids: '', thinks: true }),
]
