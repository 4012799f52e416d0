/**
 * The requirements of every provider with transcriptions; a new one is tested as soon as its registry entry has the
 * operation.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { transcriptionDialect } from '../../dataplane/apis/transcription/dialect.ts'
import { transcriptionReading } from '../../dataplane/apis/transcription/reading.ts'
import { type Scanned, scanForm, understand } from '../../dataplane/body/request.ts'
import { PROVIDERS } from '../../dataplane/providers/index.ts'
import { type Pair, pairOf } from '../../dataplane/translation/pair.ts'
import type { TranscriptionRequest } from '../../dataplane/wire/inner-form.ts'
import type { Provider } from '../../dataplane/wire/provider.ts'
import { cases } from '../helpers/cases.ts'
import { oneOf } from '../helpers/conversations/random-json.ts'
import { bytesOf, ORIGIN, someSettings } from '../helpers/providers/a-request.ts'
import { assertTrusted, CANARY, HOSTILE, variants } from '../helpers/providers/verdicts.ts'
import { aRandom } from '../helpers/random.ts'

const BOUNDARY = 'conformance-7'
const TYPE = `multipart/form-data; boundary=${BOUNDARY}`

const part = (name: string, value: string, more = '') =>
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`

/** A request for a transcription, from the texts of its form. */
function aTranscription(
  texts: Readonly<Record<string, string>> = {},
  sound = 'sound',
): TranscriptionRequest {
  const all = Object.entries({ model: 'public-name', ...texts }).map(([name, text]) =>
    part(name, text),
  )
  const file = part('file', sound, '; filename="a.wav"')
  const bytes = Buffer.from(`${all.join('')}${file}--${BOUNDARY}--\r\n`)
  return understand(
    scanForm(bytes, TYPE) as Scanned,
    transcriptionReading,
    0,
  ) as TranscriptionRequest
}

for (const provider of PROVIDERS.values()) {
  if (provider.operations.transcription === undefined) continue
  testRequests(provider)
  testAnswers(provider)
}

function pairWith(provider: Provider): Pair {
  return pairOf(transcriptionDialect, provider) as Pair
}

/** Random texts that forms may contain. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  language: ['en', 'de'],
  prompt: ['Hi', '😀 ünï\r\ncode', '--conformance', '"a"; name="file"', ' '],
  response_format: ['json', 'text', 'verbose_json', 'srt', 'vtt'],
  temperature: ['0', '0.5', '1.0'],
  stream: ['true', 'false', 'True'],
  chunking_strategy: ['auto'],
  'timestamp_granularities[]': ['word', 'segment'],
  'include[]': ['logprobs'],
}

function testRequests(provider: Provider): void {
  const { name } = provider

  test(`${name}: a form of any legal texts passes with them, or names what it leaves out`, async () => {
    const random = aRandom(7)
    for (let left = cases(100, 2_000); left > 0; left--) {
      const some = Object.entries(VALUES).filter(() => random(3) === 0)
      const texts = Object.fromEntries(some.map(([one, list]) => [one, oneOf(random, list)]))
      const request = aTranscription(texts)
      const {
        headers,
        body,
        leftOut = [],
      } = pairWith(provider).encode(request, someSettings(), undefined)
      const form = await new Response(new Uint8Array(bytesOf(body)), {
        headers: { 'content-type': String(headers['content-type']) },
      }).formData()
      for (const [one, text] of Object.entries(texts)) {
        const meant = one === 'stream' ? text.toLowerCase() : text
        if (!leftOut.includes(one)) assert.equal(form.get(one), meant, `${one} of ${text}`)
      }
    }
  })

  test(`${name}: a recording passes unchanged, with the name of the upstream's model`, async () => {
    const request = aTranscription({ prompt: 'Hi', stream: 'True', api_base: CANARY })
    const { path, headers, body } = pairWith(provider).encode(request, someSettings(), undefined)
    assert.ok(path.split('?', 1)[0]?.endsWith('/audio/transcriptions'), path)
    const form = await new Response(new Uint8Array(bytesOf(body)), {
      headers: { 'content-type': String(headers['content-type']) },
    }).formData()
    assert.equal(await (form.get('file') as File).text(), 'sound')
    assert.deepEqual(
      ['model', 'prompt', 'stream', 'api_base'].map((one) => form.get(one)),
      ['upstream-model', 'Hi', 'true', null],
    )
  })

  test(`${name}: a long recording is sent from its receive buffer`, async () => {
    const sound = 'x'.repeat(50_000)
    const request = aTranscription({}, sound)
    const encoded = pairWith(provider).encode(request, someSettings(), undefined)
    const { body, rest = [], headers } = encoded
    assert.equal(rest[0]?.buffer, request.bytes.buffer)
    const all = Buffer.concat([bytesOf(body), ...rest])
    const form = await new Response(new Uint8Array(all), {
      headers: { 'content-type': String(headers['content-type']) },
    }).formData()
    assert.equal(await (form.get('file') as File).text(), sound)
    assert.equal(form.get('model'), 'upstream-model')
  })

  test(`${name}: a request for a transcription carries our credential in one header alone`, () => {
    const request = aTranscription({ api_key: CANARY, extra_headers: CANARY })
    const { encode } = pairWith(provider)
    assertTrusted(provider, (settings) => encode(request, settings, undefined))
  })
}

/** Answers with each kind of usage, and a verbose one. */
const ANSWERS = [
  { text: 'a', usage: { type: 'tokens', input_tokens: 4, output_tokens: 1, total_tokens: 5 } },
  { text: 'a', usage: { type: 'duration', seconds: 2 } },
  { text: 'a', duration: '2.0', segments: [{ id: 0, text: 'a' }] },
]
const EVENTS = [
  { type: 'transcript.text.delta', delta: 'a' },
  { type: 'transcript.text.done', text: 'a', usage: ANSWERS[0]?.usage },
  { choices: [{ delta: { content: 'a' } }] },
  { choices: [], usage: { prompt_tokens: 4, completion_tokens: 1 } },
]

function testAnswers(provider: Provider): void {
  const { name } = provider

  test(`${name}: the bytes of a transcription pass, and tokens or seconds are read`, () => {
    const used = ANSWERS.map((answer) => {
      const body = Buffer.from(JSON.stringify(answer))
      const passed = pairWith(provider).decode(body, aTranscription(), ORIGIN)
      assert.equal(passed.kind === 'body' && passed.body, body)
      return [passed.usage?.promptTokens, passed.usage?.completionTokens, passed.usage?.estimated]
    })
    assert.deepEqual(used, [
      [4, 1, false],
      [20, 0, false],
      [20, 0, false],
    ])
  })

  test(`${name}: an answer without a transcription is a failure, never an exception`, () => {
    for (const text of ['', 'null', '[]', '"text"', '{}', '{"text":1}', '<html>', '{"error":1}']) {
      const { kind } = pairWith(provider).decode(Buffer.from(text), aTranscription(), ORIGIN)
      assert.equal(kind, 'failure', text)
    }
  })

  test(`${name}: no value of a transcription throws, at any place`, () => {
    const pair = pairWith(provider)
    for (const value of HOSTILE) {
      for (const text of ANSWERS.flatMap((answer) => variants(answer, value)))
        pair.decode(Buffer.from(text), aTranscription(), ORIGIN)
      const reader = pair.openStream(aTranscription({ stream: 'true' }), ORIGIN)
      for (const data of EVENTS.flatMap((event) => variants(event, value)))
        reader?.read({ event: '', data })
    }
  })
}
