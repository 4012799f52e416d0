/** Counts texts with a tokenizer.json, as the model's runtime does. Only the counting thread uses it. */
import { readFile, stat } from 'node:fs/promises'
import { parseJson } from '../../json/parse.ts'

/** Bytes; the largest published files have a third of it. */
const FILE_BYTES_MAX = 67_108_864

export interface FileTokenizer {
  /** Changes with the file. */
  readonly version: string
  /** Tokens that it adds around every prompt, such as a start token. */
  readonly around: number
  count(slice: string, isFirst: boolean): number
}

/** Throws if the file does not exist. */
export async function versionOf(file: string): Promise<string> {
  const { mtimeMs, size } = await stat(file)
  if (size > FILE_BYTES_MAX) throw new Error(`${file} is larger than ${FILE_BYTES_MAX} bytes`)
  return `${mtimeMs}:${size}`
}

export async function openFile(file: string, version: string): Promise<FileTokenizer> {
  const { Tokenizer } = await import('@huggingface/tokenizers')
  const tokenizer = new Tokenizer(parseJson(await readFile(file, 'utf8')), {})
  const tokensOf = (text: string) => tokenizer.tokenize(text, { add_special_tokens: false })
  // Some tokenizers add a space before every text. After a split it replaces the removed space.
  const addsSpace = [...tokensOf('a'), ...tokensOf('b')].join('\n') === tokensOf('a b').join('\n')
  return {
    version,
    around: tokenizer.encode('').ids.length,
    count: (slice, isFirst) =>
      tokensOf(addsSpace && !isFirst && slice.startsWith(' ') ? slice.slice(1) : slice).length,
  }
}
