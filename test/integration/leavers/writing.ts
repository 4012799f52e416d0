/**
 * Texts as models generate them: tokens of a real tokenizer, and prompts with a known number of
 * tokens.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { countTokens, decode, encode } from 'gpt-tokenizer/encoding/o200k_base'

export type Draw = (bound: number) => number

const page = (path: string) => readFileSync(join(import.meta.dirname, '../../..', path), 'utf8')

/** Prose, tables, code and data; Chinese and German. */
const TEXTS = [
  page('dataplane/docs/limits.md'),
  page('README.md'),
  page('dataplane/upstream/attempt/attempt.ts').slice(0, 12_000),
  page('package.json'),
  '机器学习模型从大量数据中学习规律,然后用这些规律回答问题。我们需要认真思考它带来的影响。'.repeat(
    12,
  ),
  'Die Antwort eines Modells besteht aus Wörtern, und jedes Wort hat seinen Preis. '.repeat(20),
]

const TOKENS = TEXTS.map((text) => encode(text))

/** The tokens that a template adds around a message, and before the answer. */
const AROUND = 7

export interface Prompt {
  readonly text: string
  readonly tokens: number
}

/** A piece of one of the texts. */
export function aPrompt(draw: Draw, charactersMax = 6_000): Prompt {
  const text = TEXTS[draw(TEXTS.length)] as string
  const length = Math.min(text.length, 40 + draw(charactersMax))
  const cut = text.slice(0, length).toWellFormed()
  return { text: cut, tokens: countTokens(cut) + AROUND }
}

/** Pieces of an answer, of up to `most` tokens each. */
export function* pieces(draw: Draw, most: number, count: number) {
  const tokens = TOKENS[draw(TOKENS.length)] as number[]
  let at = draw(Math.max(1, tokens.length - 200))
  for (let made = 0; made < count; made++) {
    const size = 1 + draw(most)
    if (at + size > tokens.length) at = 0
    const part = tokens.slice(at, at + size)
    at += size
    yield { text: decode(part).replaceAll('\ufffd', ''), tokens: part.length }
  }
}
