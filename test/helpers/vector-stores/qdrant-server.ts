/** Qdrant's query of points on a real socket, in the forms of its documentation, with its own meaning of a filter. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { StoredPassage } from './chroma-server.ts'

// biome-ignore lint/suspicious/noExplicitAny: it reads what it is sent.
type Body = any

export interface QdrantServer {
  readonly url: string
  readonly asked: { readonly path: string; readonly headers: Body; readonly body: Body }[]
  /** Answers with passages of every tenant, regardless of the query. */
  ignoresFilters: boolean
  fill(passages: readonly StoredPassage[]): void
  close(): Promise<void>
}

const PATH = /^\/collections\/([^/]+)\/points\/query$/

export async function startQdrant(collection = 'docs'): Promise<QdrantServer> {
  let points: readonly Body[] = []
  const qdrant = createServer(async (incoming, outgoing) => {
    const text = Buffer.concat(await Array.fromAsync<Buffer>(incoming)).toString()
    const path = incoming.url ?? ''
    const say = (status: number, body: object) => {
      outgoing.writeHead(status, { 'content-type': 'application/json' })
      outgoing.end(JSON.stringify({ time: 0.0001, ...body }))
    }
    const named = decodeURIComponent(PATH.exec(path)?.[1] ?? '')
    if (named !== collection) {
      const error = `Not found: Collection \`${named}\` doesn't exist!`
      return say(404, { status: { error } })
    }
    const body = JSON.parse(text)
    self.asked.push({ path, headers: incoming.headers, body })
    const { query, filter = {}, limit = 10 } = body
    const isMatched = (point: Body) =>
      self.ignoresFilters || (filter.must ?? []).every((one: Body) => matches(one, point.payload))
    const scored = points
      .filter(isMatched)
      .map((point) => ({ ...point, version: 0, score: cosine(query, point.vector), vector: null }))
    scored.sort((one, other) => other.score - one.score)
    say(200, { result: { points: scored.slice(0, limit) }, status: 'ok' })
  })
  qdrant.listen(0, '127.0.0.1')
  await once(qdrant, 'listening')
  const self: QdrantServer = {
    url: `http://127.0.0.1:${(qdrant.address() as AddressInfo).port}`,
    asked: [],
    ignoresFilters: false,
    fill(passages) {
      points = passages.map(({ id, vector, text: content, tenant, source }) => ({
        id,
        vector,
        payload: { page_content: content, metadata: { tenant, source } },
      }))
    },
    async close() {
      qdrant.close()
      qdrant.closeAllConnections()
      await once(qdrant, 'close')
    },
  }
  return self
}

/** `metadata.tenant` is a nested member. */
function matches({ key, match }: Body, payload: Body): boolean {
  const value = key.split('.').reduce((below: Body, part: string) => below?.[part], payload)
  return value === match.value
}

function cosine(one: readonly number[], other: readonly number[]): number {
  const dot = (a: readonly number[], b: readonly number[]) =>
    a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0)
  return dot(one, other) / (Math.sqrt(dot(one, one) * dot(other, other)) || 1)
}
