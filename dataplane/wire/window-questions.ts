/** How to ask a runtime for the context window of its model, and how to read its answers. */
import { listOf, parsed, recordOf } from '../json/values.ts'

export interface WindowQuestion {
  readonly method: 'GET' | 'POST'
  /** Path below the base URL, without its API version if `isNative`. */
  readonly path: string
  readonly isNative: boolean
  readonly body?: (model: string) => string
  /** Undefined if the answer has no window. */
  read(answer: unknown, model: string): number | undefined
}

/** Member names of the window in runtimes' lists of models. */
export const WINDOW_NAMES = [
  'max_model_len',
  'max_context_length',
  'context_length',
  'context_window',
] as const

/** The question for runtimes without a special one. */
export const LISTED: readonly WindowQuestion[] = [
  { method: 'GET', path: '/models', isNative: false, read: (list, model) => windowIn(list, model) },
]

/** The window of the model with that name, or of the only model in the list. */
export function windowIn(list: unknown, model: string): number | undefined {
  const entry = entryOf(list, model)
  return WINDOW_NAMES.map((name) => tokensOf(entry[name])).find((tokens) => tokens !== undefined)
}

export function windowFrom(question: WindowQuestion, text: string, model: string) {
  return question.read(parsed(text), model)
}

export function entryOf(list: unknown, model: string): Readonly<Record<string, unknown>> {
  const data = listOf(recordOf(list).data).map(recordOf)
  return data.find(({ id }) => id === model) ?? (data.length === 1 ? recordOf(data[0]) : {})
}

export function tokensOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined
}
