import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ProviderName } from '../../../dataplane/providers/index.ts'
import { PROVIDER_FACTS } from '../../../dataplane/providers/index.ts'
import { queueOf } from '../../../dataplane/upstream/live/queue-gauges.ts'
import type { QueueGauges } from '../../../dataplane/wire/provider-facts.ts'

const VLLM = `# HELP vllm:num_requests_waiting Number of requests waiting to be processed.
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="m"} 4.0
vllm:num_requests_waiting{engine="1",model_name="m"} 3.0
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 16.0
vllm:num_requests_running_extra{engine="0"} 99
other_vllm:num_requests_running{engine="0"} 99
`

const SGLANG_RANKS = `sglang:num_queue_reqs{engine_type="unified",model_name="m",pp_rank="0",tp_rank="0"} 3.0
sglang:num_queue_reqs{engine_type="unified",model_name="m",pp_rank="0",tp_rank="1"} 2.0
sglang:num_queue_reqs{engine_type="unified",model_name="m",pp_rank="1",tp_rank="0",moe_ep_rank="1"} 3.0
sglang:num_running_reqs{dp_rank="0",model_name="m",pp_rank="0",tp_rank="0"} 5
sglang:num_running_reqs{dp_rank="0",model_name="m",pp_rank="0",tp_rank="1"} 5
sglang:num_running_reqs{tp_rank="0",dp_rank="1",model_name="m",pp_rank="0"} 7
`

const SGLANG_PRIORITIES = `sglang:num_queue_reqs{model_name="m",priority="",tp_rank="0"} 5.0
sglang:num_queue_reqs{model_name="m",priority="0",tp_rank="0"} 2.0
sglang:num_queue_reqs{model_name="m",priority="1",tp_rank="0"} 3.0
`

const TRITON = `nv_inference_pending_request_count{model="tensorrt_llm",version="1"} 9
nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="waiting",version="1"} 2
nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="active",version="1"} 6
nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="max",version="1"} 64
`

const WAITING = 'vllm:num_requests_waiting'

const texts = [
  ['vllm', 'engines are summed', VLLM, { waiting: 7, running: 16 }],
  [
    'sglang',
    'ranks of an engine are one, engines are summed',
    SGLANG_RANKS,
    { waiting: 3, running: 12 },
  ],
  ['sglang', 'priorities are parts of the total', SGLANG_PRIORITIES, { waiting: 5 }],
  ['tgi', 'no labels', 'tgi_queue_size 3\ntgi_batch_current_size 8\n', { waiting: 3, running: 8 }],
  ['tgi', 'zero is known', 'tgi_queue_size 0', { waiting: 0 }],
  [
    'llamacpp',
    'colons in names',
    'llamacpp:requests_processing 2\nllamacpp:requests_deferred 1\n',
    { waiting: 1, running: 2 },
  ],
  ['triton', 'the type is a label', TRITON, { waiting: 2, running: 6 }],
  ['triton', 'the generic count is second', TRITON.split('\n')[0]!, { waiting: 9 }],
  ['vllm', 'missing is unknown', 'other 1\n', {}],
  ['vllm', 'an empty text is unknown', '', {}],
  ['vllm', 'an HTML page is unknown', `<html>${WAITING} 5</html>`, {}],
  ['vllm', 'a comment is no sample', `# ${WAITING} 5\n#${WAITING} 5`, {}],
  ['vllm', 'not a number is unknown', `${WAITING} NaN\n`, {}],
  ['vllm', 'infinity is unknown', `${WAITING} +Inf\n${WAITING}{engine="1"} 2`, { waiting: 2 }],
  ['vllm', 'a word is unknown', `${WAITING} many\n`, {}],
  ['vllm', 'no value is unknown', `${WAITING}\n${WAITING}{}\n${WAITING}`, {}],
  [
    'vllm',
    'blanks, times and line ends',
    `\t ${WAITING} { a = "b" , } 5 1700000000\r\n`,
    { waiting: 5 },
  ],
  ['vllm', 'exponents', `${WAITING}{} 1e1\n`, { waiting: 10 }],
  [
    'vllm',
    'braces, quotes and commas in values',
    `${WAITING}{a="}\\",{\\\\",b="x"} 4`,
    { waiting: 4 },
  ],
  [
    'vllm',
    'open braces are passed over',
    `${WAITING}{a="b" 4\n${WAITING}{b="c"} 1`,
    { waiting: 1 },
  ],
] as const

for (const [provider, sentence, text, expected] of texts) {
  test(`${provider}: ${sentence}: ${JSON.stringify(text.slice(0, 60))}`, () => {
    assert.deepEqual(queueOf(gaugesOf(provider), text), expected)
  })
}

test('a text that is too long is unknown, not half a sum', () => {
  assert.deepEqual(queueOf(gaugesOf('vllm'), VLLM + '#'.repeat(8 * 1024 * 1024)), {})
})

test('more lines than any runtime has end in bounded time', () => {
  const lines = `${WAITING}{engine="0"} 1\n`.repeat(150_000)
  assert.deepEqual(queueOf(gaugesOf('vllm'), lines), { waiting: 1 })
})

test('any text gives numbers or nothing', () => {
  const piece = fc.constantFrom(
    WAITING,
    '{',
    '}',
    '"',
    '\\',
    ',',
    '=',
    ' ',
    '\n',
    'a',
    '1',
    '#',
    '-',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
      const { waiting = 0, running } = queueOf(gaugesOf('vllm'), pieces.join(''))
      assert.ok(Number.isFinite(waiting) && waiting >= 0)
      assert.equal(running, undefined)
    }),
    { numRuns: 2000 },
  )
})

function gaugesOf(provider: ProviderName): QueueGauges {
  const { queueGauges } = PROVIDER_FACTS[provider]
  assert.ok(queueGauges, `${provider} reports its queue`)
  return queueGauges
}
