/** The thread that counts tokens. It loads each tokenizer once, and the gateway serves requests while it counts. */
import { parentPort } from 'node:worker_threads'
import { ENCODINGS, type Encoding } from '../../wire/models/encodings.ts'
import { type FileTokenizer, openFile, versionOf } from './file-tokenizer.ts'
import { slicesOf } from './slices.ts'
import { type Counted, fileOf, type Order, type TokenizerName } from './token-thread.ts'

/** The package has a module of the same form for each of its encodings. */
const MODULES: Readonly<Record<Encoding, string>> = {
  o200k_base: import.meta.resolve('gpt-tokenizer/encoding/o200k_base'),
  cl100k_base: import.meta.resolve('gpt-tokenizer/encoding/cl100k_base'),
}

/** The used part of such a module. */
interface Encoder {
  countTokens(text: string, options: { readonly disallowedSpecial: ReadonlySet<string> }): number
  setMergeCacheSize(entries: number): void
}

/** Words whose tokens are cached; each may be as long as a slice. */
const CACHED_WORDS_MAX = 10_000
/** A text that looks like a control token is counted as text. */
const AS_TEXT = { disallowedSpecial: new Set<string>() }
/** Each uses up to 200 MB, so the least recently used one is removed. */
const FILES_MAX = 2

const encoders = new Map<Encoding, Promise<Encoder>>()
const files = new Map<string, Promise<FileTokenizer>>()

async function loadEncoder(encoding: Encoding): Promise<Encoder> {
  // The module is chosen at run time, so its type is declared here.
  const encoder = (await import(MODULES[encoding])) as Encoder
  encoder.setMergeCacheSize(CACHED_WORDS_MAX)
  return encoder
}

/** A changed file is read again; if a file is gone, its last content is used. */
async function loadFile(file: string): Promise<FileTokenizer> {
  const known = await files.get(file)?.catch(() => undefined)
  const version = await versionOf(file).catch((error) => {
    if (known === undefined) throw error
    return known.version
  })
  const opening = known?.version === version ? Promise.resolve(known) : openFile(file, version)
  files.delete(file)
  files.set(file, opening)
  const [oldest] = files.keys()
  if (files.size > FILES_MAX && oldest !== undefined) files.delete(oldest)
  return await opening
}

/** How to count a slice, and the tokens around every prompt. */
async function counterOf(name: TokenizerName): Promise<Pick<FileTokenizer, 'around' | 'count'>> {
  const file = fileOf(name)
  if (file !== undefined) return await loadFile(file)
  const encoding = ENCODINGS.find((one) => one === name)
  if (encoding === undefined) throw new Error(`there is no encoding "${name}"`)
  const loading = encoders.get(encoding) ?? loadEncoder(encoding)
  encoders.set(encoding, loading)
  const encoder = await loading
  return { around: 0, count: (slice) => encoder.countTokens(slice, AS_TEXT) }
}

/** undefined once no request waits for it. */
async function count({ tokenizer, texts, until }: Order): Promise<number | undefined> {
  const counter = await counterOf(tokenizer)
  let tokens = counter.around
  for (const text of texts) {
    let isFirst = true
    for (const slice of slicesOf(text)) {
      if (Date.now() > until) return undefined
      tokens += counter.count(slice, isFirst)
      isFirst = false
    }
  }
  return tokens
}

parentPort?.on('message', async (order: Order) => {
  const failed = (error: unknown) => (error instanceof Error ? error.message : String(error))
  const counted: Counted = await count(order).then(
    (tokens) => ({ id: order.id, tokens }),
    (error) => ({ id: order.id, tokens: undefined, why: failed(error) }),
  )
  parentPort?.postMessage(counted)
})
