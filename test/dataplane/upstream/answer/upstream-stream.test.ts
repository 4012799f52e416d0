/** The paths of an upstream's stream from its first byte to its one end. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Deadlines } from '../../../../dataplane/base/clock.ts'
import { openai } from '../../../../dataplane/providers/openai/provider.ts'
import { SSE } from '../../../../dataplane/providers/openai-like/sse.ts'
import { Meter } from '../../../../dataplane/tokens/meter.ts'
import type { Breakage } from '../../../../dataplane/upstream/answer/opened-stream.ts'
import { Tap } from '../../../../dataplane/upstream/answer/tap.ts'
import { UpstreamStream } from '../../../../dataplane/upstream/answer/upstream-stream.ts'
import { Exchange } from '../../../../dataplane/upstream/attempt/exchange.ts'
import type { Failure } from '../../../../dataplane/wire/provider.ts'
import { aRequest, chatStream } from '../../../helpers/providers/a-request.ts'

const WORD = 'data: {"choices":[{"index":0,"delta":{"content":"word"}}]}\n\n'
const ROLE = 'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n'
const END = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
const ERROR = 'data: {"error":{"message":"no memory","type":"server_error"}}\n\n'
const DONE = 'data: [DONE]\n\n'
const RESET: Failure = { class: 'reset', message: 'connection reset' }

/** A stream whose upstream is this test; `events` records its steps. */
function open(asked: Readonly<Record<string, unknown>> = {}) {
  const clock = { now: () => 0, wall: () => 0 }
  const clocks = { firstMs: 1000, idleMs: 1000, totalAt: 10_000 }
  const receiver = {
    head() {},
    data() {},
    end() {},
    fail() {},
    resend() {},
    released() {},
    written() {},
  }
  const exchange = new Exchange(receiver, clocks, clock, new Deadlines(clock))
  const events: string[] = []
  const controller = {
    pause: () => events.push('pause'),
    resume: () => events.push('resume'),
    abort: () => events.push('abort'),
  }
  // The exchange uses only these members of undici's controller.
  exchange.onRequestStart(controller as never)
  const reader = chatStream(openai, aRequest({ stream: true, ...asked }))
  const tap = new Tap(reader, SSE, new Meter().begin('up', 'm'))
  const stream = new UpstreamStream(tap, SSE, exchange, {
    opened: (failure) => events.push(`opened ${classOf(failure)}`),
    ended: (failure) => events.push(`ended ${classOf(failure)}`),
  })
  const written: string[] = []
  const sink = {
    takes: true,
    write(bytes: Buffer) {
      written.push(bytes.toString())
      return sink.takes
    },
    finish: (failure: Breakage | undefined) => events.push(`finish ${classOf(failure)}`),
  }
  return {
    stream,
    events,
    sink,
    say: (...texts: string[]) => texts.forEach((text) => void stream.data(Buffer.from(text))),
    flow: () => stream.flowTo(sink),
    text: () => written.join(''),
  }
}

function classOf(failure: Breakage | undefined): string {
  return failure instanceof Error ? failure.message : (failure?.class ?? 'well')
}

type Opened = ReturnType<typeof open>

const ENDINGS: readonly [string, (one: Opened) => void, string, string[]][] = [
  [
    'content, finish and [DONE]',
    ({ say, stream }) => {
      say(WORD, END, DONE)
      stream.end()
    },
    WORD + END + DONE,
    ['opened well', 'ended well', 'finish well'],
  ],
  [
    'finish without [DONE]: one is added',
    ({ say, stream }) => {
      say(WORD, END)
      stream.end()
    },
    WORD + END + DONE,
    ['opened well', 'ended well', 'finish well'],
  ],
  [
    '[DONE] without finish',
    ({ say, stream }) => {
      say(WORD, DONE)
      stream.end()
    },
    WORD + DONE,
    ['opened well', 'ended well', 'finish well'],
  ],
  [
    '[DONE] without its blank line',
    ({ say, stream }) => {
      say(WORD, END, 'data: [DONE]')
      stream.end()
    },
    WORD + END + DONE,
    ['opened well', 'ended well', 'finish well'],
  ],
  [
    'a finish without content',
    ({ say, stream }) => {
      say(ROLE, END, DONE)
      stream.end()
    },
    ROLE + END + DONE,
    ['opened well', 'ended well', 'finish well'],
  ],
  [
    'an end after content',
    ({ say, stream }) => {
      say(WORD, WORD)
      stream.end()
    },
    WORD + WORD,
    ['opened well', 'ended reset', 'finish reset'],
  ],
  [
    'an end in the middle of an event',
    ({ say, stream }) => {
      say(WORD, 'data: {"choi')
      stream.end()
    },
    `${WORD}data: {"choi\n\n`,
    ['opened well', 'ended reset', 'finish reset'],
  ],
  [
    'a reset after content',
    ({ say, stream }) => {
      say(WORD)
      stream.fail(RESET)
    },
    WORD,
    ['opened well', 'ended reset', 'finish reset'],
  ],
  [
    'a reset behind the finish',
    ({ say, stream }) => {
      say(WORD, END)
      stream.fail(RESET)
    },
    WORD + END + DONE,
    ['opened well', 'ended well', 'finish well'],
  ],
  [
    'an error after content',
    ({ say, stream }) => {
      say(WORD, ERROR, WORD)
      stream.end()
    },
    WORD,
    ['opened well', 'abort', 'ended server', 'finish server'],
  ],
  [
    'bytes behind [DONE]',
    ({ say, stream }) => {
      say(WORD, END, DONE, WORD)
      stream.fail(RESET)
      stream.end()
    },
    WORD + END + DONE,
    ['opened well', 'ended well', 'finish well'],
  ],
]

for (const [what, happen, text, events] of ENDINGS) {
  test(`${what}, held and flowing: the same bytes and the same end`, () => {
    const held = open()
    happen(held)
    held.flow()
    assert.equal(held.text(), text)
    assert.deepEqual(held.events, events)
    const flowing = open()
    flowing.say(': comment\n\n')
    flowing.flow()
    happen(flowing)
    assert.equal(flowing.text(), `: comment\n\n${text}`)
    assert.deepEqual(flowing.events, events)
  })
}

const FAILURES: readonly [string, (one: Opened) => void, string[]][] = [
  ['an error', ({ say }) => say(ROLE, ERROR, WORD), ['abort', 'opened server', 'ended server']],
  [
    'an error in the chunk of the first word',
    ({ say }) => say(ERROR + WORD),
    ['abort', 'opened server', 'ended server'],
  ],
  [
    'an end',
    ({ say, stream }) => {
      say(ROLE)
      stream.end()
    },
    ['opened reset', 'ended reset'],
  ],
  ['an end at once', ({ stream }) => stream.end(), ['opened reset', 'ended reset']],
  [
    'a reset',
    ({ say, stream }) => {
      say(ROLE)
      stream.fail(RESET)
      stream.fail(RESET)
    },
    ['opened reset', 'ended reset'],
  ],
]

for (const [what, happen, events] of FAILURES) {
  test(`${what} before any content is a failed attempt, once`, () => {
    const one = open()
    happen(one)
    assert.deepEqual(one.events, events)
  })
}

test('one ended choice of two does not make the answer whole', () => {
  const other = (event: string) => event.replace('"index":0', '"index":1')
  for (const [rest, end] of [
    ['', 'reset'],
    [other(WORD), 'reset'],
    [other(WORD) + END, 'reset'],
    [other(END), 'well'],
    [other(WORD) + other(END), 'well'],
  ] as const) {
    for (const leave of ['end', 'fail'] as const) {
      const one = open({ n: 2 })
      one.flow()
      one.say(WORD, END, rest)
      one.stream[leave](RESET)
      assert.deepEqual(one.events, ['opened well', `ended ${end}`, `finish ${end}`])
      assert.equal(one.text(), WORD + END + rest + (end === 'well' ? DONE : ''))
    }
  }
})

test('nothing opens before the first content, and nothing is lost until a reader listens', () => {
  const { say, events, flow, text } = open()
  say(': comment\n\n', ROLE, 'data: {"choi')
  assert.deepEqual(events, [])
  say('ces":[{"index":0,"delta":{"content":"a"}}]}\n\n')
  assert.deepEqual(events, ['opened well'])
  say(WORD)
  flow()
  assert.equal(text(), `: comment\n\n${ROLE}${WORD.replace('word', 'a')}${WORD}`)
})

test('a mebibyte without content is not the start of an answer', () => {
  const { say, events } = open()
  const comment = `: ${'x'.repeat(65_532)}\n\n`
  for (let count = 0; count < 16; count++) say(comment)
  assert.deepEqual(events, [])
  say(comment)
  assert.deepEqual(events, ['abort', 'opened malformed', 'ended malformed'])
  say(WORD)
  assert.equal(events.length, 3)
})

test('an event without an end is bounded too', () => {
  const { say, events } = open()
  for (let count = 0; count < 40; count++) say('x'.repeat(65_536))
  assert.deepEqual(events, ['abort', 'opened malformed', 'ended malformed'])
})

test('an upstream waits while the client does not read', () => {
  const { say, events, flow, sink, stream } = open()
  say(WORD)
  flow()
  sink.takes = false
  say(WORD)
  assert.deepEqual(events, ['opened well', 'pause'])
  sink.takes = true
  stream.drained()
  assert.deepEqual(events, ['opened well', 'pause', 'resume'])
})

test('a client that left gets no end, and the upstream is aborted once', () => {
  const { say, events, flow, stream } = open()
  say(WORD)
  flow()
  stream.abort('the client left')
  stream.abort('the client left')
  say(WORD, DONE)
  stream.end()
  assert.equal(events.filter((event) => event === 'abort').length, 1)
  assert.ok(!events.some((event) => event.startsWith('finish')))
})
