/** A text is counted as a whole and in slices: English, and one letter repeated. */
import { slicesOf } from '../../../dataplane/tokens/exact/slices.ts'
import { compare } from './runner.ts'

const { countTokens, setMergeCacheSize } = (await import(
  import.meta.resolve('gpt-tokenizer/encoding/o200k_base')
)) as { countTokens(text: string): number; setMergeCacheSize(entries: number): void }
setMergeCacheSize(0)
const ENGLISH = 'The text of a prompt is mostly made of words, and of sentences. '.repeat(30)
const ONE_LETTER = 'a'.repeat(8192)

function whole(text: string) {
  return (times: number) => {
    for (let index = 0; index < times; index++) countTokens(text)
  }
}

function sliced(text: string) {
  return (times: number) => {
    for (let index = 0; index < times; index++)
      for (const slice of slicesOf(text)) countTokens(slice)
  }
}

await compare(import.meta.url, 30, {
  'English, whole': whole(ENGLISH),
  'English, in slices': sliced(ENGLISH),
  'one letter, whole': whole(ONE_LETTER),
  'one letter, in slices': sliced(ONE_LETTER),
})
