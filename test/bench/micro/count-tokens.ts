/** Microseconds for 1,000 tokens of English, by each way of counting. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Tokenizer } from '@huggingface/tokenizers'
import { estimatePromptTokens } from '../../../dataplane/tokens/count.ts'
import { slicesOf } from '../../../dataplane/tokens/exact/slices.ts'
import { aRequest } from '../../helpers/providers/a-request.ts'
import { compare } from './runner.ts'

const { countTokens } = (await import(
  import.meta.resolve('gpt-tokenizer/encoding/o200k_base')
)) as { countTokens(text: string): number }
const fixture = join(import.meta.dirname, '../../fixtures/tokenizers/bytes.json')
const file = new Tokenizer(JSON.parse(await readFile(fixture, 'utf8')), {})
const SENTENCE = 'The text of a prompt is mostly made of words, and of sentences. '
const sentences = (count: (text: string) => number) =>
  SENTENCE.repeat(Math.ceil(100_000 / count(SENTENCE.repeat(100))))
const fileCount = (text: string) => file.tokenize(text, { add_special_tokens: false }).length

function counted(count: (text: string) => number) {
  const text = sentences(count)
  return (times: number) => {
    for (let index = 0; index < times; index++) for (const slice of slicesOf(text)) count(slice)
  }
}

const request = aRequest({ messages: [{ role: 'user', content: sentences(countTokens) }] })

await compare(import.meta.url, 30, {
  'an estimate': (times) => {
    for (let index = 0; index < times; index++) estimatePromptTokens(request)
  },
  'a bundled encoding': counted(countTokens),
  'a tokenizer.json': counted(fileCount),
})
