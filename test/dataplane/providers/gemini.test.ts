/** Gemini in addition to its fixtures: addresses, signatures between turns, and errors outside events. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GatewayError } from '../../../dataplane/base/errors.ts'
import type { Json } from '../../../dataplane/json/values.ts'
import { knownWindow } from '../../../dataplane/providers/facts-of-models.ts'
import { FRAMES } from '../../../dataplane/providers/gemini/framing.ts'
import { gemini } from '../../../dataplane/providers/gemini/provider.ts'
import { Signatures } from '../../../dataplane/providers/gemini/signatures.ts'
import {
  aRequest,
  chatWith,
  ORIGIN,
  settingsOf,
  someSettings,
} from '../../helpers/providers/a-request.ts'

const VERTEX = { project: 'p-1', region: 'europe-west4' }
const chat = chatWith(gemini)

function baseOf(settings: Parameters<typeof someSettings>[0] = {}): unknown[] {
  const { defaultEndpoint, versionPath } = gemini
  assert.ok(typeof defaultEndpoint === 'function' && typeof versionPath === 'function')
  return [defaultEndpoint(someSettings(settings)), versionPath(someSettings(settings))]
}

test('the address is that of Google AI, or with project and region that of Vertex AI', () => {
  const googleAi = 'https://generativelanguage.googleapis.com'
  assert.deepEqual(baseOf(), [`${googleAi}/v1beta`, '/v1beta'])
  assert.deepEqual(baseOf({ apiVersion: 'v1' }), [`${googleAi}/v1`, '/v1'])
  assert.deepEqual(baseOf({ project: 'p-1' }), [`${googleAi}/v1beta`, '/v1beta'])
  assert.deepEqual(baseOf(VERTEX), ['https://europe-west4-aiplatform.googleapis.com/v1', '/v1'])
  const [ownVersion] = baseOf({ ...VERTEX, apiVersion: 'v1beta1' })
  assert.equal(ownVersion, 'https://europe-west4-aiplatform.googleapis.com/v1beta1')
  const hostIn = (region: string) => new URL(String(baseOf({ project: 'p', region })[0])).hostname
  assert.equal(hostIn('global'), 'aiplatform.googleapis.com')
  assert.equal(hostIn('eu'), 'aiplatform.eu.rep.googleapis.com')
})

test('the path has the model and its operation', () => {
  const pathOf = (model: string, more: Json = {}, client: Json = {}) =>
    chat.encode(aRequest(client), someSettings({ model, ...more }), undefined).path
  assert.equal(pathOf('gemini-m'), '/models/gemini-m:generateContent')
  assert.equal(
    pathOf('gemini-m', {}, { stream: true }),
    '/models/gemini-m:streamGenerateContent?alt=sse',
  )
  assert.equal(pathOf('tunedModels/own'), '/tunedModels/own:generateContent')
  assert.equal(pathOf('a?b#c'), '/models/a%3Fb%23c:generateContent')
  const place = '/projects/p-1/locations/europe-west4'
  for (const [model, name] of [
    ['gemini-m', 'publishers/google/models/gemini-m'],
    ['models/gemini-m', 'publishers/google/models/gemini-m'],
    ['publishers/meta/models/llama', 'publishers/meta/models/llama'],
    ['meta/llama', 'publishers/meta/models/llama'],
    ['endpoints/77', 'endpoints/77'],
  ] as const) {
    assert.equal(pathOf(model, VERTEX), `${place}/${name}:generateContent`)
  }
  assert.equal(
    pathOf('projects/9/locations/us-central1/endpoints/77', VERTEX),
    '/projects/9/locations/us-central1/endpoints/77:generateContent',
  )
})

test('the windows of its models are known, dated or not', () => {
  const windowOf = (model: string) => knownWindow({ provider: 'gemini', model })
  assert.equal(windowOf('gemini-2.5-flash'), 1_048_576)
  assert.equal(windowOf('gemini-2.5-pro-latest'), 1_048_576)
  assert.equal(windowOf('gemini-unheard'), undefined)
})

test('a refusal names the provider', () => {
  assert.throws(
    () => chat.encode(aRequest({ n: 9 }), someSettings(), undefined),
    (error) => error instanceof GatewayError && /\bgemini\b/.test(error.message),
  )
})

test('an error as plain JSON among the events is read, with any line ends', () => {
  const error = { error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } }
  for (const end of ['\n', '\r\n']) {
    const pretty = JSON.stringify(error, null, 2).replaceAll('\n', end)
    const framer = FRAMES.open()
    const text = `data: {"candidates":[]}${end}${end}${pretty}`
    const whole = framer.push(Buffer.from(text)) ?? Buffer.alloc(0)
    const rest = Buffer.concat([whole, framer.rest(), FRAMES.closing ?? Buffer.alloc(0)])
    const events = [...FRAMES.split(rest)].map(FRAMES.parse)
    const reader = chat.openStream(aRequest({ stream: true }))
    const meanings = events.flatMap((event) => (event ? [reader!.read(event)] : []))
    assert.equal(meanings.at(-1)?.failure?.class, 'overloaded')
  }
  assert.equal(FRAMES.parse(Buffer.from(': a comment\n\n')), undefined)
})

/** The parts of the model's turn with this call in the history. */
function turnWith(calls: readonly Json[], model = 'gemini-3-flash-preview'): Json[] {
  const results = calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: '1' }))
  const asked = { role: 'user', content: 'x' }
  const messages = [asked, { role: 'assistant', content: null, tool_calls: calls }, ...results]
  const { body } = chat.encode(aRequest({ messages }), settingsOf('gemini', { model }), undefined)
  return JSON.parse(String(body)).contents[1].parts
}

/** The tool calls that a client reads in an answer of this model. */
function callsIn(parts: readonly Json[], responseId: string, model = 'gemini-3-flash-preview') {
  const candidates = [{ content: { parts }, finishReason: 'STOP' }]
  const body = Buffer.from(JSON.stringify({ candidates, responseId }))
  const decoded = gemini.operations.chat!.decode(body, aRequest(), { ...ORIGIN, model })
  assert.ok(decoded.kind === 'answer')
  const { calls } = decoded.answer.choices[0]!
  return calls.map(({ id, name, arguments: text, extra }) => ({
    id,
    type: 'function',
    function: { name, arguments: text },
    ...(extra && { extra_content: extra }),
  }))
}

const SIGNED = [
  { functionCall: { name: 'f', args: {} }, thoughtSignature: 'c2ln' },
  { functionCall: { name: 'g', args: {} } },
]
const LOST = 'skip_thought_signature_validator'
const signaturesOf = (parts: readonly Json[]) => parts.map((part) => part.thoughtSignature)

test('a signature comes back with its call, even from a client that drops unknown members', () => {
  const calls = callsIn(SIGNED, 'turn-1')
  assert.deepEqual(signaturesOf(turnWith(calls)), ['c2ln', undefined])
  const bare = calls.map(({ id, type, function: called }) => ({ id, type, function: called }))
  assert.deepEqual(signaturesOf(turnWith(bare)), ['c2ln', undefined])
})

test('a signature that is new to this process comes back from the client', () => {
  const own = { google: { thought_signature: 'b3RoZXI=' } }
  const call = { id: 'elsewhere', type: 'function', function: { name: 'f', arguments: '{}' } }
  assert.deepEqual(signaturesOf(turnWith([{ ...call, extra_content: own }])), ['b3RoZXI='])
  const vertex = { vertex: { thought_signature: 'dmVydGV4' } }
  assert.deepEqual(signaturesOf(turnWith([{ ...call, extra_content: vertex }])), ['dmVydGV4'])
  assert.deepEqual(signaturesOf(turnWith([call])), [LOST])
  const broken = { google: { thought_signature: 'not base64!' } }
  assert.deepEqual(signaturesOf(turnWith([{ ...call, extra_content: broken }])), [LOST])
})

test('a signature stays with the model that made it', () => {
  const calls = callsIn(SIGNED, 'turn-2')
  assert.deepEqual(signaturesOf(turnWith(calls, 'gemini-3-pro-preview')), [LOST, undefined])
  assert.deepEqual(signaturesOf(turnWith(calls, 'gemini-2.5-pro')), [undefined, undefined])
  const vertex = 'publishers/google/models/gemini-3-flash-preview'
  assert.deepEqual(signaturesOf(turnWith(calls, vertex)), ['c2ln', undefined])
})

test('ids of calls are the same whenever the answer is read, and differ between answers', () => {
  const idsOf = (responseId: string) => callsIn(SIGNED, responseId).map(({ id }) => id)
  assert.deepEqual(idsOf('turn-3'), idsOf('turn-3'))
  assert.equal(new Set([...idsOf('turn-3'), ...idsOf('turn-4')]).size, 4)
})

test('a signature is remembered for its tenant, and for no other that sends its ids', () => {
  const signatures = new Signatures()
  const model = 'gemini-3-m'
  signatures.keep({ tenant: 'one' }, 'call-1', 'f', { signature: 'c2ln', model })
  const recalled = (tenant: string) =>
    signatures
      .of(someSettings({ model }), { tenant })
      .call({ id: 'call-1', function: { name: 'f' } }, 0)
  assert.deepEqual([recalled('other'), recalled('one')], [LOST, 'c2ln'])
})

test('signatures are remembered within bounds, the newest longest', () => {
  const signatures = new Signatures()
  const ASKER = { tenant: 't' }
  const signature = 'a'.repeat(60_000)
  for (let turn = 0; turn < 300; turn++) {
    signatures.keep(ASKER, `call-${turn}`, 'f', { signature, model: 'gemini-3-m' })
  }
  const { call } = signatures.of(someSettings({ model: 'gemini-3-m' }), ASKER)
  const recalled = (turn: number) => call({ id: `call-${turn}`, function: { name: 'f' } }, 0)
  assert.equal(recalled(299), signature)
  assert.equal(recalled(170), signature)
  assert.equal(recalled(0), LOST)
  signatures.keep(ASKER, 'vast', 'f', { signature: 'a'.repeat(70_000), model: 'gemini-3-m' })
  assert.equal(call({ id: 'vast', function: { name: 'f' } }, 0), LOST)
})
