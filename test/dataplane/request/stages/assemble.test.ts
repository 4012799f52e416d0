/** Passages of a store precede the question, as far as the context window has room. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AuxiliaryError } from '../../../../dataplane/auxiliaries/auxiliary.ts'
import { Presence } from '../../../../dataplane/call/presence.ts'
import { assemble } from '../../../../dataplane/request/stages/assemble.ts'
import { Retrievals } from '../../../../dataplane/retrieval/retrievals.ts'
import type { RetrievalTrace } from '../../../../dataplane/telemetry/trace/parts.ts'
import { Meter } from '../../../../dataplane/tokens/meter.ts'
import { aRequest } from '../../../helpers/providers/a-request.ts'
import { assemble as assembleGateway } from '../../assembled-gateway.ts'
import { KEY } from './keys.ts'

const WINDOW = 2_000
const UPSTREAM = {
  ...{ name: 'up', provider: 'openai', endpoint: 'http://127.0.0.1:1', model: 'm' },
  context_window: WINDOW,
}
const ROUTE = { name: 'chat', strategy: 'single', primary: 'up', retrieval: ['docs'] }
const STORE = {
  ...{ name: 'docs', provider: 'qdrant', endpoint: 'http://127.0.0.1:1', collection: 'c' },
  ...{ embedding: { upstream: 'up' }, shared: true },
}
const QUESTION = { role: 'user', content: 'How long is the warranty?' }
const LONG = 'word '.repeat(1_500)

interface Given {
  readonly messages?: readonly object[]
  readonly retrieval?: object
  /** The texts that the store finds, best first; an error if it is unavailable. */
  readonly found?: readonly string[] | AuxiliaryError
}

async function assembled({ messages = [QUESTION], retrieval = {}, found = [] }: Given) {
  const gw = {
    ...{ upstreams: [UPSTREAM], routes: [ROUTE], vector_stores: [STORE] },
    retrieval: [{ name: 'docs', ...retrieval }],
  }
  const { gateway, clock } = assembleGateway(gw)
  const { snapshot, lanes } = gateway.active
  const route = snapshot.routes.get('chat') ?? assert.fail('no route')
  const lane = lanes.get('chat') ?? assert.fail('no lane')
  const world = new Retrievals({ clock, metrics: gateway.metrics, readText: () => '' })
  world.follow(snapshot.section)
  const [retriever] = world.of(route.section)
  assert.ok(retriever !== undefined)
  retriever.store.search = async () => {
    if (found instanceof AuxiliaryError) throw found
    return found.map((text, at) => ({ id: `${at}`, score: 1 - at / 10, payload: { text } }))
  }
  const meter = new Meter()
  const presence = new Presence()
  const notes: RetrievalTrace[] = []
  const embeddings = { embed: async () => Float32Array.of(1) }
  const made = assemble(
    aRequest({ messages, max_tokens: 10 }),
    {
      caller: { key: KEY, tenant: 'acme' },
      ...{ route, lane, meter, fits: () => true, maxTokens: undefined },
      totalAt: clock.now() + 60_000,
    },
    {
      ...{ retrievals: world, library: { clock, embeddings }, presence, requestId: 'r' },
      ...{
        note: (note: RetrievalTrace) => void notes.push(note),
        permitted: undefined,
        reserved: 100,
      },
    },
  )
  return { made, meter, presence, notes, target: lane.targets[0] ?? assert.fail('no target') }
}

test('passages form a message before the question, and their tokens count', async () => {
  const { made, meter, presence, notes, target } = await assembled({ found: ['Two years.'] })
  const { request, passages, context, fits } = await made
  const [inserted, question] = request.body.messages
  assert.match(String(inserted?.content), /Two years\./)
  assert.deepEqual(question, QUESTION)
  assert.ok(meter.addedTokens > 0)
  assert.equal(context?.added, meter.addedTokens)
  assert.deepEqual([context?.window, context?.reserved], [WINDOW, 100])
  assert.deepEqual([passages[0]?.kept, fits(target), presence.state], [true, true, 'idle'])
  assert.equal(notes[0]?.outcome, 'ok')
})

test('a passage that does not fit the window is removed, and the others stay', async () => {
  const { made } = await assembled({ found: ['Two years.', LONG, 'In the shop.'] })
  const { passages, request } = await made
  assert.deepEqual(
    passages.map(({ kept, reason }) => [kept, reason]),
    [
      [true, undefined],
      [false, 'context_window'],
      [true, undefined],
    ],
  )
  assert.match(String(request.body.messages[0]?.content), /Two years\./)
})

test('a limit of the retrieval section applies before the window', async () => {
  const { made } = await assembled({
    found: ['Two years.', 'In the shop, with the receipt of the day.'],
    retrieval: { max_context_tokens: 6 },
  })
  const { passages } = await made
  assert.deepEqual(
    passages.map(({ reason }) => reason),
    [undefined, 'max_context_tokens'],
  )
})

test('without a question or a passage the request does not change', async () => {
  for (const given of [
    { messages: [{ role: 'assistant', content: 'Hello.' }], found: ['Two years.'] },
    { found: [] },
    { found: [LONG] },
  ]) {
    const { made, meter } = await assembled(given)
    const { request } = await made
    assert.equal(request.body.messages.length, 1)
    assert.equal(meter.addedTokens, 0)
  }
})

test('an unavailable store refuses the request, unless the section skips it', async () => {
  const away = new AuxiliaryError('timeout', 'no answer in time')
  const failing = await assembled({ found: away })
  await assert.rejects(failing.made, /Retrieval "docs" returned no passages/)
  assert.deepEqual([failing.presence.state, failing.notes[0]?.outcome], ['idle', 'timeout'])
  const skipping = await assembled({ found: away, retrieval: { on_error: 'skip' } })
  assert.deepEqual((await skipping.made).passages, [])
})
