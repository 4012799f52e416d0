/** Nanoseconds to weigh the text of an event and 1,000 bytes of a prompt, and to pass an event with its usage so far. */

import { skimmer } from '../../../dataplane/providers/openai-like/skimming/skim.ts'
import { Meter } from '../../../dataplane/tokens/meter.ts'
import { weightOf } from '../../../dataplane/tokens/weight.ts'
import { compare } from './runner.ts'

const SENTENCE = 'The text of a prompt is mostly made of words, and of sentences. '
const prompt = Buffer.from(SENTENCE.repeat(16)).subarray(0, 1000)
const plain =
  'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}]}\n\n'
const counted = plain.replace(
  ']}\n',
  '],"usage":{"prompt_tokens":9,"total_tokens":13,"completion_tokens":4}}\n',
)
const skim = skimmer({ hidesUsage: true, showsRepeated: false, repeatsUsage: true })
const metered = new Meter().begin('up', 'm')

function skimmed(text: string) {
  const frames = Buffer.from(text)
  return (times: number) => {
    for (let index = 0; index < times; index++) skim(frames, metered)
  }
}

await compare(import.meta.url, 100_000, {
  'the text of an event': (times) => {
    for (let index = 0; index < times; index++) weightOf(prompt, 0, 5)
  },
  '1,000 bytes of a prompt': (times) => {
    for (let index = 0; index < times; index++) weightOf(prompt)
  },
  'an event without usage': skimmed(plain),
  'an event with its usage': skimmed(counted),
})
