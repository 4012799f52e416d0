/** Where a runtime tells how many tokens its model may hold: questions, and how their answers are read. */
import { listOf, parsed, recordOf, textOf } from '../json/values.ts'

export interface WindowQuestion {
  readonly method: 'GET' | 'POST'
  /** Below the base URL without its API version where `isNative`, else with it. */
  readonly path: string
  readonly isNative: boolean
  readonly body?: (model: string) => string
  /** Undefined where the answer does not tell. */
  read(answer: unknown, model: string): number | undefined
}

/** What runtimes call it in their list of models. */
const NAMES = ['max_model_len', 'max_context_length', 'context_length', 'context_window'] as const

/** Of every runtime that says nothing else. */
export const LISTED: readonly WindowQuestion[] = [
  { method: 'GET', path: '/models', isNative: false, read: (list, model) => windowIn(list, model) },
]

/** What a slot holds; `n_ctx_train` is what the model could, and nobody gets. Older builds tell it in their properties alone. */
export const OF_LLAMACPP: readonly WindowQuestion[] = [
  {
    method: 'GET',
    path: '/models',
    isNative: false,
    read: (list, model) => tokensOf(recordOf(entryOf(list, model).meta).n_ctx),
  },
  {
    method: 'GET',
    path: '/props',
    isNative: true,
    read: (props) => tokensOf(recordOf(recordOf(props).default_generation_settings).n_ctx),
  },
]

/** What the loaded model was given, else what it would be given, else what it could hold. */
export const OF_OLLAMA: readonly WindowQuestion[] = [
  {
    method: 'GET',
    path: '/api/ps',
    isNative: true,
    read(loaded, model) {
      const named = listOf(recordOf(loaded).models).map(recordOf)
      const one = named.find(({ name, model: id }) => isTagged(name, model) || isTagged(id, model))
      return tokensOf(one?.context_length)
    },
  },
  {
    method: 'POST',
    path: '/api/show',
    isNative: true,
    body: (model) => JSON.stringify({ model }),
    read(shown) {
      const { parameters, model_info } = recordOf(shown)
      const asked = /^num_ctx\s+(\d{1,12})\s*$/m.exec(textOf(parameters) ?? '')?.[1]
      if (asked !== undefined) return tokensOf(Number(asked))
      const info = Object.entries(recordOf(model_info))
      return tokensOf(info.find(([name]) => name.endsWith('.context_length'))?.[1])
    },
  },
]

/** Of the model of that name, or of the only one there is. */
export function windowIn(list: unknown, model: string): number | undefined {
  const entry = entryOf(list, model)
  return NAMES.map((name) => tokensOf(entry[name])).find((tokens) => tokens !== undefined)
}

/** What a question was answered. */
export function windowFrom(question: WindowQuestion, text: string, model: string) {
  return question.read(parsed(text), model)
}

function entryOf(list: unknown, model: string): Readonly<Record<string, unknown>> {
  const data = listOf(recordOf(list).data).map(recordOf)
  return data.find(({ id }) => id === model) ?? (data.length === 1 ? recordOf(data[0]) : {})
}

/** A name without a tag means `latest`. */
function isTagged(name: unknown, model: string): boolean {
  return name === model || name === `${model}:latest`
}

function tokensOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined
}
