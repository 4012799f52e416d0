/** Vectors of texts by their words: texts that share words are near, others are not. */
import { hash } from 'node:crypto'
import type { Reply } from '../fake-upstream.ts'

const LENGTH = 64

export function wordVector(text: string): number[] {
  const vector = new Array<number>(LENGTH).fill(0.001)
  for (const word of text.toLowerCase().match(/[a-z0-9]+/g) ?? []) {
    const place = Number.parseInt(hash('sha256', word).slice(0, 4), 16) % LENGTH
    vector[place] = (vector[place] ?? 0) + 1
  }
  return vector
}

/** An upstream that embeds. */
export const embedding: Reply = (outgoing, { body }) => {
  const data = [{ object: 'embedding', index: 0, embedding: wordVector(String(body.input)) }]
  const usage = { prompt_tokens: 4, total_tokens: 4 }
  outgoing.writeHead(200, { 'content-type': 'application/json' })
  outgoing.end(JSON.stringify({ object: 'list', model: 'embedder', data, usage }))
}
