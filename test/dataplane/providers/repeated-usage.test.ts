/** vLLM and SGLang report usage with each piece: it is counted, and only clients that requested it get it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sglang } from '../../../dataplane/providers/sglang/provider.ts'
import { vllm } from '../../../dataplane/providers/vllm/provider.ts'
import { Meter } from '../../../dataplane/tokens/meter.ts'
import { Tap } from '../../../dataplane/upstream/answer/tap.ts'
import { aRequest, chatStream, chatWith, someSettings } from '../../helpers/providers/a-request.ts'

const BARE = 'data: {"id":"c","choices":[{"index":0,"delta":{"content":"two words"}}]}\n\n'
const wordOf = (tokens: number) =>
  BARE.replace(']}\n', `],"usage":{"prompt_tokens":9,"completion_tokens":${tokens}}}\n`)

function streamed(stream_options: object, frames: readonly string[]) {
  const metered = new Meter().begin('up', 'm')
  const tap = new Tap(
    chatStream(vllm, aRequest({ stream: true, stream_options })),
    vllm.framing,
    metered,
  )
  return { metered, text: frames.map((frame) => tap.take(Buffer.from(frame)).toString()).join('') }
}

test('it is asked for', () => {
  for (const provider of [vllm, sglang]) {
    const request = aRequest({ stream: true, stream_options: { include_usage: true } })
    const { body } = chatWith(provider).encode(request, someSettings(), undefined)
    assert.deepEqual(JSON.parse(String(body)).stream_options, {
      include_usage: true,
      continuous_usage_stats: true,
    })
  }
})

test('it is hidden from clients that did not request it, read or passed on, and counts all content', () => {
  const frames = [wordOf(2), wordOf(4), wordOf(6) + wordOf(8)]
  for (const options of [{}, { include_usage: true }]) {
    const { text, metered } = streamed(options, frames)
    assert.equal(text.replaceAll('\\', ''), BARE.repeat(4))
    assert.deepEqual([metered.usage?.completionTokens, metered.isCurrent], [8, true])
    assert.equal(metered.contentEvents, 4)
    assert.equal(metered.weight, 8)
  }
  const asked = streamed({ include_usage: true, continuous_usage_stats: true }, frames)
  assert.equal(asked.text, frames.join(''))
  assert.equal(asked.metered.usage?.completionTokens, 8)
})

test('a runtime that reports none is counted by its text', () => {
  const { text, metered } = streamed({}, [BARE, BARE + BARE])
  assert.deepEqual([text, metered.usage, metered.weight], [BARE.repeat(3), undefined, 6])
})
