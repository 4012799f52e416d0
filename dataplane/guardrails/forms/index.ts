/** The forms of requests to guarded routes: of the inner form by operation, and of clients' APIs that are translated into it. */
import type { Operation } from '../../wire/inner-form.ts'
import { chat } from './chat.ts'
import { type Form, refused } from './form.ts'
import { messages } from './messages.ts'
import { responses } from './responses.ts'
import { completions, embeddings, rerank } from './texts.ts'

export const INNER_FORMS: Readonly<Record<Operation, Form>> = {
  chat,
  completions,
  embeddings,
  rerank,
  // Guardrails cannot hear.
  transcription: refused,
}

/** By the client's wire. */
export const CLIENT_FORMS: Readonly<Record<string, Form>> = {
  'anthropic-messages': messages,
  'openai-responses': responses,
}
