/** The thread that counts tokens: it loads each encoding once, and requests are served while it counts. */
import { parentPort } from 'node:worker_threads'
import type { Encoding } from '../../providers/encodings.ts'
import { slicesOf } from './slices.ts'
import type { Counted, Order } from './token-thread.ts'

/** The package has a module of the same shape for each of its encodings. */
const MODULES: Readonly<Record<Encoding, string>> = {
  o200k_base: import.meta.resolve('gpt-tokenizer/encoding/o200k_base'),
  cl100k_base: import.meta.resolve('gpt-tokenizer/encoding/cl100k_base'),
}

/** The part of such a module that is used. */
interface Tokenizer {
  countTokens(text: string, options: { readonly disallowedSpecial: ReadonlySet<string> }): number
  setMergeCacheSize(entries: number): void
}

/** Words whose tokens are remembered; each may be as long as a slice. */
const CACHED_WORDS_MAX = 10_000
/** A text that looks like a control token is a text. */
const AS_TEXT = { disallowedSpecial: new Set<string>() }

const loaded = new Map<Encoding, Promise<Tokenizer>>()

async function load(encoding: Encoding): Promise<Tokenizer> {
  // Which module it is is known when it is asked for, and so its type is said here.
  const tokenizer = (await import(MODULES[encoding])) as Tokenizer
  tokenizer.setMergeCacheSize(CACHED_WORDS_MAX)
  return tokenizer
}

async function count({ encoding, texts }: Order): Promise<number> {
  const loading = loaded.get(encoding) ?? load(encoding)
  loaded.set(encoding, loading)
  const tokenizer = await loading
  let tokens = 0
  for (const text of texts) {
    for (const slice of slicesOf(text)) tokens += tokenizer.countTokens(slice, AS_TEXT)
  }
  return tokens
}

parentPort?.on('message', async (order: Order) => {
  const tokens = await count(order).catch(() => undefined)
  const counted: Counted = { id: order.id, tokens }
  parentPort?.postMessage(counted)
})
