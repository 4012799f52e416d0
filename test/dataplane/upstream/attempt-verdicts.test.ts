/** The attempts of one request give one verdict about an upstream. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { envelope } from '../../../dataplane/apis/openai/wire.ts'
import type { GatewayError } from '../../../dataplane/base/errors.ts'
import { ANSWER, aRig, EVENTS, type Outcome, type Rig } from './journeys.ts'

const refused = (outcome: Outcome) => (outcome as { refused: GatewayError }).refused

/** Lets a repeat run: the pause before it is real time, a millisecond. Fails if the request has ended instead. */
async function untilAsked(rig: Rig, count: number, outcome: Promise<Outcome>): Promise<void> {
  let ended: Outcome | undefined
  void outcome.then((end) => {
    ended = end
  })
  while (rig.asked.length < count && ended === undefined) await delay(1)
  assert.equal(ended, undefined)
}

test('a 500 that repeats at one upstream is one failure of the request to its breaker', async () => {
  const rig = aRig({
    upstreams: [{ name: 'a', circuit_breaker: { failure_threshold: 2 } }],
    routes: [
      {
        name: 'r',
        strategy: 'single',
        primary: 'a',
        retry: { max_attempts: 3, initial_delay_ms: 1 },
      },
    ],
  })
  for (const state of ['closed', 'open']) {
    const before = rig.asked.length
    const outcome = rig.send()
    for (const each of state === 'closed' ? [1, 2, 3] : [1]) {
      await untilAsked(rig, before + each, outcome)
      rig.last.answer(500, { error: { message: 'broken' } })
    }
    assert.equal(refused(await outcome).code, 'ERR_GW_UPSTREAM_ERROR')
    assert.equal(rig.state('a').breaker.peek(rig.now), state)
  }
})

const SAYS_OF_THE_UPSTREAM: Readonly<Record<string, (rig: Rig) => void>> = {
  'a refused connection': (rig) => rig.last.fail('ECONNREFUSED'),
  'a reset': (rig) => rig.last.fail('ECONNRESET'),
  'a stream that is cut before its content': (rig) => {
    rig.last.head(200, EVENTS)
    rig.last.end()
  },
  ...Object.fromEntries(
    [502, 503, 504, 529].map((status) => [
      `a ${status}`,
      (rig: Rig) => rig.last.answer(status, { error: { message: 'down' } }),
    ]),
  ),
}

function thrice(threshold: number): Rig {
  return aRig({
    upstreams: [{ name: 'a', circuit_breaker: { failure_threshold: threshold } }],
    routes: [
      {
        name: 'r',
        strategy: 'single',
        primary: 'a',
        retry: { max_attempts: 3, initial_delay_ms: 1 },
      },
    ],
  })
}

for (const [what, happens] of Object.entries(SAYS_OF_THE_UPSTREAM)) {
  test(`${what} counts for each attempt of a request`, async () => {
    const rig = thrice(3)
    const outcome = rig.send({ stream: true })
    for (const each of [1, 2, 3]) {
      await untilAsked(rig, each, outcome)
      assert.equal(rig.state('a').breaker.peek(rig.now), 'closed')
      happens(rig)
    }
    assert.ok(refused(await outcome))
    assert.equal(rig.state('a').breaker.peek(rig.now), 'open')
  })
}

for (const statuses of [
  [500, 503, 500],
  [503, 500, 500],
  [500, 500, 503],
]) {
  test(`of ${statuses.join(', ')} in one request the breaker counts two`, async () => {
    for (const [threshold, state] of [
      [3, 'closed'],
      [2, 'open'],
    ] as const) {
      const rig = thrice(threshold)
      const outcome = rig.send()
      for (const [index, status] of statuses.entries()) {
        await untilAsked(rig, index + 1, outcome)
        rig.last.answer(status, { error: { message: 'broken' } })
        if (rig.state('a').breaker.peek(rig.now) === 'open') break
      }
      assert.ok(refused(await outcome))
      assert.equal(rig.state('a').breaker.peek(rig.now), state)
    }
  })
}

test('a repeat that succeeds restarts the count', async () => {
  const rig = aRig({
    upstreams: [{ name: 'a', circuit_breaker: { failure_threshold: 2 } }],
    routes: [
      {
        name: 'r',
        strategy: 'single',
        primary: 'a',
        retry: { max_attempts: 2, initial_delay_ms: 1 },
      },
    ],
  })
  for (const round of [1, 2, 3]) {
    const outcome = rig.send()
    rig.last.answer(500, { error: { message: 'broken' } })
    await untilAsked(rig, 2 * round, outcome)
    rig.last.answer(200, ANSWER)
    assert.equal(((await outcome) as { kind: string }).kind, 'whole')
    assert.equal(rig.state('a').breaker.peek(rig.now), 'closed')
  }
})

const JINJA =
  '\n------------\nWhile executing CallExpression at line 19, column 27 in source:\n...% 2 == 0) -%}\n        {{ raise_exception("Conversation roles must alternate user...\n   ^\nError: Jinja Exception: Conversation roles must alternate user/assistant/user/assistant/...'
const OF_THE_REQUEST: readonly [provider: string, status: number, error: object][] = [
  [
    'llamacpp',
    500,
    {
      code: 500,
      message:
        'image input is not supported - hint: if this is unexpected, you may need to provide the mmproj',
      type: 'server_error',
    },
  ],
  [
    'llamacpp',
    500,
    {
      code: 500,
      message:
        'audio input is not supported - hint: if this is unexpected, you may need to provide the mmproj',
      type: 'server_error',
    },
  ],
  ['llamacpp', 500, { code: 500, message: JINJA, type: 'server_error' }],
  [
    'llamacpp',
    500,
    { code: 500, message: 'Failed to load image or audio file', type: 'server_error' },
  ],
  [
    'llamacpp',
    500,
    {
      code: 500,
      message:
        'Failed to parse messages: Unsupported content part type: "image_url"; messages = []',
      type: 'server_error',
    },
  ],
  [
    'ollama',
    500,
    {
      message:
        'Failed to create new sequence: failed to process inputs: this model is missing data required for image input',
      type: 'api_error',
    },
  ],
  ['ollama', 500, { message: `chat template prompt error: ${JINJA}`, type: 'api_error' }],
]

for (const [provider, status, error] of OF_THE_REQUEST) {
  const said = (error as { message: string }).message
  test(`${provider} answers ${status} about the request itself: ${said.replace(/\s+/g, ' ').slice(0, 60)}`, async () => {
    const rig = aRig({
      upstreams: [
        { name: 'a', provider, circuit_breaker: { failure_threshold: 1 } },
        { name: 'b' },
      ],
      routes: [
        {
          name: 'r',
          strategy: 'primary_with_fallback',
          primary: 'a',
          fallback: ['b'],
          retry: { max_attempts: 3 },
        },
      ],
    })
    const outcome = rig.send()
    rig.last.answer(status, { error })
    // Any other try would wait forever.
    await delay(1)
    assert.equal(rig.asked.length, 1)
    const refusal = refused(await outcome)
    assert.equal(refusal.status, 400)
    assert.deepEqual(JSON.parse(envelope(refusal, 'id')).error, {
      message: said,
      type: 'invalid_request_error',
      param: null,
      code: null,
    })
    assert.equal(rig.state('a').breaker.peek(rig.now), 'closed')
  })
}

test('a failure of the runtime itself continues to count', async () => {
  const rig = aRig({
    upstreams: [{ name: 'a', provider: 'llamacpp', circuit_breaker: { failure_threshold: 1 } }],
    routes: [{ name: 'r', strategy: 'single', primary: 'a' }],
  })
  const outcome = rig.send()
  rig.last.answer(500, { error: { code: 500, message: 'Compute error.', type: 'server_error' } })
  assert.equal(refused(await outcome).code, 'ERR_GW_UPSTREAM_ERROR')
  assert.equal(rig.state('a').breaker.peek(rig.now), 'open')
})

test('an answer with the id of another request of this process is a failure, and its connection ends', async () => {
  for (const name of ['x-request-id', 'x-client-request-id']) {
    const rig = aRig({
      upstreams: [{ name: 'a', circuit_breaker: { failure_threshold: 1 } }],
      routes: [{ name: 'r', strategy: 'single', primary: 'a' }],
    })
    const outcome = rig.send()
    rig.last.head(200, { 'content-type': 'application/json', [name]: 'tag-z9' })
    assert.equal(rig.last.aborted, true)
    assert.equal(refused(await outcome).code, 'ERR_GW_UPSTREAM_ERROR')
    assert.equal(rig.state('a').breaker.peek(rig.now), 'open')
  }
})

test('a foreign id says nothing about the request of the answer', async () => {
  // The client chose the second.
  for (const id of ['tag-1', 'tag-7', 'req_0115', 'gat-2', 'tag-2-3', 'tag-', 'tag-Ü', '']) {
    const rig = aRig({
      upstreams: [{ name: 'a' }],
      routes: [{ name: 'r', strategy: 'single', primary: 'a' }],
    })
    const outcome = rig.send()
    rig.last.head(200, { 'content-type': 'application/json', 'x-request-id': id })
    rig.last.data(JSON.stringify(ANSWER))
    rig.last.end()
    assert.equal(((await outcome) as { kind: string }).kind, 'whole', id)
  }
})
