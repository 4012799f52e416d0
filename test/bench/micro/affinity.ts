/** The choice of an endpoint for one request of a long conversation, among 64 endpoints. */
import { affinityKeyOf } from '../../../dataplane/upstream/endpoints/affinity-key.ts'
import { affine, hashOf, least, mixed } from '../../../dataplane/upstream/endpoints/choice.ts'
import { compare } from './runner.ts'

const endpoints = Array.from({ length: 64 }, (_, index) => ({
  hash: mixed(hashOf(`10.0.0.${index} 8000`)),
  isCrammed: () => false,
  inFlight: index % 3,
  load: () => index % 3,
}))
const text = (length: number) => 'This prompt is a long one.  '.repeat(length / 28 + 1)
const request = {
  body: {
    model: 'm',
    messages: [
      { role: 'system', content: text(4096) },
      { role: 'user', content: text(4096) },
    ],
    tools: Array.from({ length: 20 }, (_, index) => ({ function: { name: `a_tool_${index}` } })),
  },
} as never
const settings = { model: 'm', section: { balance: 'affinity' } } as never

function turn(choose: (round: number) => unknown) {
  return (times: number) => {
    for (let round = 0; round < times; round++)
      if (choose(round) === undefined) throw new Error('no endpoint was chosen')
  }
}

await compare(import.meta.url, 100_000, {
  least: turn((round) => least(endpoints, round, Math.random, 0)),
  'affinity by words': turn(() =>
    affine(endpoints, affinityKeyOf(request, settings, undefined) ?? 0, 0),
  ),
  'affinity by a key': turn((round) => affine(endpoints, round, 0)),
})
