/** Requests other than conversations: texts to continue, texts for vectors, documents to rank. */
import { GENERATED, SHARED } from './chat.ts'
import { either, list, members, numbers, text, words } from './form.ts'

const texts = either({ string: text, entries: list(text) })

const COMPLETIONS = { ...GENERATED, cache_salt: text, prompt: texts, suffix: text }
/** Members that are more than a number. */
export const COMPLETIONS_MEMBERS: readonly string[] = Object.keys(COMPLETIONS)

export const completions = members(COMPLETIONS, numbers)

const CUT = words('none', 'start', 'end', 'NONE', 'START', 'END')

const EMBEDDINGS = {
  ...SHARED,
  encoding_format: words('float', 'base64'),
  input: texts,
  input_type: words(
    ...['search_document', 'search_query', 'classification', 'clustering', 'image'],
    ...['query', 'document', 'passage'],
  ),
  truncate: CUT,
}
/** Members that are more than a number. */
export const EMBEDDINGS_MEMBERS: readonly string[] = Object.keys(EMBEDDINGS)

export const embeddings = members(EMBEDDINGS, numbers)

export const rerank = members(
  {
    ...SHARED,
    documents: list(either({ string: text, other: members({ text }) })),
    query: text,
    truncate: CUT,
  },
  numbers,
)
