/**
 * Random requests for texts, vectors and rankings, at every provider: each vendor accepts them, nothing is lost without
 * a name, and answers are whole.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openAiCompletionsDialect } from '../../dataplane/apis/openai-completions/dialect.ts'
import { openAiEmbeddingsDialect } from '../../dataplane/apis/openai-embeddings/dialect.ts'
import { rerankDialect } from '../../dataplane/apis/rerank/dialect.ts'
import { GatewayError } from '../../dataplane/base/errors.ts'
import { parseRequest } from '../../dataplane/body/request.ts'
import { PROVIDERS } from '../../dataplane/providers/index.ts'
import { type Pair, pairOf } from '../../dataplane/translation/pair.ts'
import type { Dialect } from '../../dataplane/wire/dialect.ts'
import type { ModelRequest } from '../../dataplane/wire/inner-form.ts'
import type { Provider } from '../../dataplane/wire/provider.ts'
import { cases } from '../helpers/cases.ts'
import { type Joined, streamed as streamedBy } from '../helpers/conversations/one-answer.ts'
import { bytesOf as framed } from '../helpers/conversations/upstream/index.ts'
import * as answers from '../helpers/operations/answered.ts'
import { type Fields, type Operation, someRequest } from '../helpers/operations/asked.ts'
import { asList, inputsIn, inputsOf, lostIn } from '../helpers/operations/seen.ts'
import { bytesOf, ORIGIN, someSettings } from '../helpers/providers/a-request.ts'
import { aRandom } from '../helpers/random.ts'
import { complaintsOf, type Vendor } from '../helpers/vendors/index.ts'

const CASES = Number(process.env.GW_CASES ?? cases(200, 5_000))
const SEED = Number(process.env.GW_SEED ?? 0)
const DIALECTS: Readonly<Record<Operation, Dialect>> = {
  completions: openAiCompletionsDialect as Dialect,
  embeddings: openAiEmbeddingsDialect as Dialect,
  rerank: rerankDialect as Dialect,
}
const MODELS: Readonly<Record<string, string>> = {
  bedrock: 'amazon.titan-embed-text-v2:0',
  gemini: 'gemini-embedding-001',
}

// biome-ignore lint/suspicious/noExplicitAny: read like a client without types reads.
type Json = any

interface Way {
  readonly operation: Operation
  readonly provider: Provider
  readonly pair: Pair
}

for (const [operation, dialect] of Object.entries(DIALECTS) as [Operation, Dialect][])
  for (const provider of PROVIDERS.values()) {
    const pair = pairOf(dialect, provider)
    if (pair === undefined) continue
    const way: Way = { operation, provider, pair }
    test(`${operation} at ${provider.name}: ${CASES} requests are accepted and answered whole, or refused by name`, (t) => {
      const broken = new Map<string, string>()
      let refused = 0
      for (let seed = SEED; seed < SEED + CASES; seed++) {
        const asked = someRequest(aRandom(Math.imul(seed + 1, 0x9e3779b1)), operation)
        const found = triedWith(way, asked, seed)
        if (found === 'refused') refused++
        else
          for (const [kind, detail] of found)
            if (!broken.has(kind))
              broken.set(kind, `${JSON.stringify(asked).slice(0, 300)}: ${detail}`)
      }
      t.diagnostic(`${refused} of ${CASES} refused by name`)
      assert.deepEqual(
        [...broken].map(([kind, detail]) => `${kind}: ${detail}`),
        [],
      )
    })
  }

type Found = readonly (readonly [kind: string, detail: string])[]

function triedWith(way: Way, asked: Fields, seed: number): Found | 'refused' {
  const { operation, provider, pair } = way
  const dialect = DIALECTS[operation]
  const settings = someSettings({
    model: MODELS[provider.name] ?? 'served',
    ...(provider.name === 'azure_openai' && { deployment: 'served', apiVersion: '2025-01-01' }),
    ...(provider.name === 'bedrock' && { region: 'eu-west-1' }),
  })
  try {
    const text = Buffer.from(JSON.stringify(asked))
    const request = parseRequest(text, dialect.reading, 0) as ModelRequest
    const sent = pair.encode(request, settings, undefined)
    const named = [
      ...(pair.lost?.(request, settings) ?? []),
      ...(sent.leftOut ?? []),
      ...(sent.lost ?? []),
    ]
    const body = JSON.parse(bytesOf(sent.body).toString())
    const path = `/v1${sent.path}`
    return [
      ...complaintsOf(provider.name as Vendor, { path, body }).map(
        ({ rule, message }) => [`vendor: ${rule}`, message] as const,
      ),
      ...brokenMeaning(operation, asked, body, named),
      ...brokenAnswer(way, asked, request, seed),
    ]
  } catch (error) {
    if (error instanceof GatewayError) return 'refused'
    throw error
  }
}

function brokenMeaning(
  operation: Operation,
  asked: Fields,
  body: Fields,
  named: readonly string[],
): Found {
  const [meant, seen] = [inputsOf(operation, asked), inputsIn(operation, body)]
  const isSame = JSON.stringify(asList(meant)) === JSON.stringify(asList(seen))
  const lost = lostIn(operation, asked, body).filter(
    (name) => !named.some((one) => one.startsWith(name)),
  )
  return [
    ...(isSame ? [] : [['meaning: inputs', JSON.stringify(seen).slice(0, 200)] as const]),
    ...lost.map((name) => [`lost without a name: ${name}`, named.join()] as const),
  ]
}

function brokenAnswer(way: Way, asked: Fields, request: ModelRequest, seed: number): Found {
  const { operation, provider, pair } = way
  const count = operation === 'completions' ? request.choices : (request as { items: number }).items
  const { dimensions, encoding_format: format } = asked as Record<string, never>
  const isBase64 = format === 'base64'
  const wanted = { provider: provider.name, seed, count, dimensions: dimensions ?? 4, isBase64 }
  if (operation === 'completions' && request.stream) return brokenStream(way, request, wanted)
  const text = {
    completions: answers.completed,
    embeddings: answers.embedded,
    rerank: answers.ranked,
  }
  const passed = pair.decode(Buffer.from(text[operation](wanted)), request, ORIGIN)
  if (passed.kind === 'failure') return [['answer: failure', passed.failure.message]]
  if (passed.kind === 'inspected') throw new Error('An answer of a test is short.')
  const answer = JSON.parse(String(passed.body))
  return brokenWhole(operation, asked, answer, wanted)
}

function brokenWhole(
  operation: Operation,
  asked: Fields,
  answer: Json,
  wanted: answers.Asked,
): Found {
  const compared = (kind: string, seen: unknown, meant: unknown): Found => {
    const [one, other] = [JSON.stringify(seen), JSON.stringify(meant)]
    return one === other ? [] : [[`answer: ${kind}`, `${other} became ${one}`]]
  }
  if (operation === 'completions') {
    const texts = answer.choices.map(({ text }: { text: string }) => text)
    return compared('texts', texts, answers.textsOf(wanted))
  }
  if (operation === 'embeddings') {
    const seen = answer.data.map(({ embedding }: { embedding: unknown }) =>
      numbersOf(embedding, wanted.isBase64),
    )
    const meant = answers.vectorsOf(wanted).map((one) => [...new Float32Array(one)])
    const isCounted = Number.isInteger(answer.usage?.prompt_tokens)
    return [
      ...compared('vectors', seen, meant),
      ...(isCounted ? [] : [['answer: usage', ''] as const]),
    ]
  }
  const order = Array.from({ length: wanted.count }, (_, index) => index).toSorted(
    (one, other) => answers.scoreOf(other, wanted.seed) - answers.scoreOf(one, wanted.seed),
  )
  const most = Math.min((asked.top_n as number) || wanted.count, wanted.count)
  const seen = answer.results.map(({ index }: { index: number }) => index)
  const shown = answer.results.every(
    ({ document, index }: { document?: { text: string }; index: number }) => {
      const one = (asked.documents as (string | { text: string })[])[index]
      const text = typeof one === 'object' ? one.text : one
      return asked.return_documents === true ? document?.text === text : document === undefined
    },
  )
  return [
    ...compared('order', seen, order.slice(0, most)),
    ...(shown ? [] : [['answer: documents', ''] as const]),
  ]
}

/** A vector in the requested form; undefined in another form. */
function numbersOf(vector: unknown, isBase64: boolean): number[] | undefined {
  if ((typeof vector === 'string') !== isBase64) return undefined
  if (typeof vector !== 'string') return [...new Float32Array(vector as number[])]
  const bytes = new Uint8Array(Buffer.from(vector, 'base64'))
  return [...new Float32Array(bytes.buffer)]
}

function brokenStream(
  { provider, pair }: Way,
  request: ModelRequest,
  wanted: answers.Asked,
): Found {
  const { mediaType } = provider.framing
  const events = answers.streamed(wanted)
  const joined = { provider, pair } as unknown as Joined
  const bytes = framed(
    mediaType,
    events.map((data) => ['', data] as const),
  )
  const { text, isWhole, failure } = streamedBy(joined, request, bytes, wanted.seed % bytes.length)
  const texts = Array.from({ length: wanted.count }, () => '')
  for (const line of text.split('\n').filter((one) => one.startsWith('data: {')))
    for (const choice of JSON.parse(line.slice('data: '.length)).choices)
      texts[choice.index] += choice.text
  const isSame = JSON.stringify(texts) === JSON.stringify(answers.textsOf(wanted))
  const cut = framed(
    mediaType,
    events.slice(0, 1).map((data) => ['', data] as const),
  )
  const isCutWhole = streamedBy(joined, request, cut).isWhole
  return [
    ...(isWhole ? [] : [['answer: a whole stream looks cut', String(failure)] as const]),
    ...(isSame ? [] : [['answer: streamed texts', JSON.stringify(texts)] as const]),
    ...(isCutWhole ? [['answer: a cut stream looks whole', ''] as const] : []),
  ]
}
