/** The cost in the last events of a stream: which event has it, and that other bytes stay. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openCostsOf } from '../../../dataplane/apis/openai/costs.ts'
import { openPricedMember, pricedEvents } from '../../../dataplane/apis/streamed-cost.ts'
import type { AnswerCost } from '../../../dataplane/wire/dialect.ts'

const COST: AnswerCost = {
  usage: {
    promptTokens: 7,
    completionTokens: 3,
    cachedTokens: 0,
    reasoningTokens: 0,
    estimated: false,
  },
  estimated: false,
  usd: '0.00000015',
}
const GW = '"gw":{"cost_usd":0.00000015}'
const chat = openCostsOf('chat.completion.chunk', { delta: {} })
const asked = (includeUsage: boolean) => ({ includeUsage, createdSeconds: 5 })
const finish = '{"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}'

test('an event keeps its bytes beside the cost, with any line ends and with other fields before its data', () => {
  const carries = ({ usage }: Readonly<Record<string, unknown>>) => usage !== null
  for (const [before, after] of [
    ['data: {"usage":{"n":1.0}}\n\n', `data: {${GW},"usage":{"n":1.0}}\n\n`],
    ['data:{"usage":{}}\r\n\r\n', `data:{${GW},"usage":{}}\r\n\r\n`],
    ['id: 4\nevent: x\ndata: {"usage":{}}\n\n', `id: 4\nevent: x\ndata: {${GW},"usage":{}}\n\n`],
    [
      'data: {"usage":{"a":"\u2028data: {}"}}\n\n',
      `data: {${GW},"usage":{"a":"\u2028data: {}"}}\n\n`,
    ],
    ['data: {"usage":null}\n\n', 'data: {"usage":null}\n\n'],
    ['data: {"usage":\n\n', 'data: {"usage":\n\n'],
    [': comment\n\n', ': comment\n\n'],
  ] as const)
    assert.equal(
      pricedEvents(before, carries, () => COST),
      after,
    )
})

test('the cost that an upstream states gives way to that of the request', () => {
  const text = 'data: {"gw":{"cost_usd":9},"usage":{}}\n\n'
  assert.equal(
    pricedEvents(
      text,
      () => true,
      () => COST,
    ),
    `data: {${GW},"usage":{}}\n\n`,
  )
})

test('a client that asks for no usage gets it in the chunk with the finish reason, and no chunk more', () => {
  const costs = chat(asked(false), () => COST)
  const shown = [`data: ${finish}\n\n`, '', 'data: [DONE]\n\n'].map((text) => costs.write(text))
  const [chunk, ...rest] = shown.join('').split('\n\n')
  assert.deepEqual(rest, ['data: [DONE]', ''])
  const { usage, gw, ...own } = JSON.parse(chunk?.slice(6) ?? '')
  assert.deepEqual([own, gw, usage.total_tokens], [JSON.parse(finish), { cost_usd: 1.5e-7 }, 10])
})

test('a stream without a chunk after its content gets one that has a choice', () => {
  const [chunk] = chat(asked(false), () => COST)
    .write('data: [DONE]\n\n')
    .split('\n\n')
  const { choices, usage, created } = JSON.parse(chunk?.slice(6) ?? '')
  assert.deepEqual([choices.length, usage.total_tokens, created], [1, 10, 5])
})

test('a client that asks for usage gets a chunk without choices where the upstream reported none', () => {
  const costs = chat(asked(true), () => ({ ...COST, estimated: true }))
  assert.equal(costs.write(`data: ${finish}\n\n`), `data: ${finish}\n\n`)
  const [chunk, end] = costs.write('data: [DONE]\n\n').split('\n\n')
  const { choices, id, gw } = JSON.parse(chunk?.slice(6) ?? '')
  assert.deepEqual(
    [choices, id, gw, end],
    [[], 'c1', { cost_usd: 1.5e-7, estimated: true }, 'data: [DONE]'],
  )
})

test('without a price and without an estimate there is no member gw', () => {
  const { usd: _, ...unpriced } = COST
  const text = 'data: {"usage":{}}\n\n'
  assert.equal(
    pricedEvents(
      text,
      () => true,
      () => unpriced,
    ),
    text,
  )
})

test('the last event of a response has the cost in its response, and numbers of the user stay as written', () => {
  const { write } = openPricedMember(['response.completed'], 'response')(undefined, () => COST)
  const tools = '"tools":[{"parameters":{"minimum":1.0}}]'
  assert.equal(
    write(`event: x\ndata: {"type":"response.completed","response":{"id":"r",${tools}}}\n\n`),
    `event: x\ndata: {"type":"response.completed","response":{"id":"r",${tools},${GW}}}\n\n`,
  )
  const other = 'data: {"type":"response.created","response":{}}\n\n'
  assert.equal(write(other), other)
})
