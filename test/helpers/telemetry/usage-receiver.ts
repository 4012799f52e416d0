/** Receives usage events as a webhook and as a collector, refuses some, and keeps each by its id. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type ReadRecord, readRecords } from './spans.ts'

export interface PostedEvent {
  readonly id: string
  readonly input_tokens: number
  readonly output_tokens: number
  readonly cost_nano_usd: number
}

export interface UsageReceiver {
  readonly url: string
  /** From batches of CloudEvents. */
  readonly posted: Map<string, PostedEvent>
  /** From log records. */
  readonly records: Map<string, PostedEvent>
  /** Ids that came more than once. */
  readonly repeated: Set<string>
  readonly headers: Readonly<Record<string, string | string[] | undefined>>[]
  readonly bodies: Buffer[]
  close(): Promise<void>
}

/** Every third batch is accepted, and still answered with 503. */
export async function startReceiver(): Promise<UsageReceiver> {
  const posted = new Map<string, PostedEvent>()
  const records = new Map<string, PostedEvent>()
  const repeated = new Set<string>()
  const headers: UsageReceiver['headers'] = []
  const bodies: Buffer[] = []
  let batches = 0
  const server = createServer((incoming, outgoing) => {
    const pieces: Buffer[] = []
    incoming.on('data', (piece: Buffer) => pieces.push(piece))
    incoming.on('end', () => {
      const body = Buffer.concat(pieces)
      headers.push(incoming.headers)
      bodies.push(body)
      const isOtlp = incoming.url === '/v1/logs'
      const kept = isOtlp ? records : posted
      for (const event of isOtlp ? readRecords(body).records.map(fromRecord) : fromBatch(body)) {
        if (kept.has(event.id)) repeated.add(event.id)
        kept.set(event.id, event)
      }
      outgoing.writeHead(++batches % 3 === 0 ? 503 : 200, { 'retry-after': '0' }).end()
    })
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    posted,
    records,
    repeated,
    headers,
    bodies,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function fromBatch(body: Buffer): PostedEvent[] {
  const events = JSON.parse(body.toString()) as { id: string; data: Omit<PostedEvent, 'id'> }[]
  return events.map(({ id, data }) => ({ ...data, id }))
}

function fromRecord({ attributes }: ReadRecord): PostedEvent {
  return {
    id: String(attributes['gw.event_id']),
    input_tokens: Number(attributes['gen_ai.usage.input_tokens']),
    output_tokens: Number(attributes['gen_ai.usage.output_tokens']),
    cost_nano_usd: Number(attributes['gw.cost_nano_usd']),
  }
}
