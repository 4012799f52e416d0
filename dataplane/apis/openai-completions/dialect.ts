/** Writes OpenAI's legacy completions from the inner form, for answers that do not pass unchanged. */

import type { Json } from '../../json/values.ts'
import type { Dialect, StreamWriter } from '../../wire/dialect.ts'
import type {
  CompletionsAnswer,
  CompletionsEvent,
  CompletionsRequest,
  Sent,
  Usage,
} from '../../wire/inner-form.ts'
import { openCostsOf } from '../openai/costs.ts'
import { STREAM_END, usageOf } from '../openai/usage.ts'
import { completionsReading, OPENAI_COMPLETIONS } from './reading.ts'

export const openAiCompletionsDialect: Dialect<'completions'> = {
  wire: OPENAI_COMPLETIONS,
  operation: 'completions',
  reading: completionsReading,
  writeAnswer,
  openWriter,
  openCosts: openCostsOf('text_completion', { text: '' }),
}

function writeAnswer(
  { id, model, choices }: CompletionsAnswer,
  usage: Usage | undefined,
  { createdSeconds }: Sent<CompletionsRequest>,
): object {
  return {
    id,
    object: 'text_completion',
    created: createdSeconds,
    model,
    choices: choices.map(({ text, finish, logprobs = null }, index) => ({
      text,
      index,
      logprobs,
      finish_reason: finish,
    })),
    ...(usage && { usage: usageOf(usage) }),
  }
}

function openWriter(request: Sent<CompletionsRequest>): StreamWriter<CompletionsEvent> {
  let frame: Json = {}
  const chunk = (members: Json) => `data: ${JSON.stringify({ ...frame, ...members })}\n\n`
  const choice = (index: number, text: string, finish: string | null, logprobs: unknown = null) =>
    chunk({ choices: [{ text, index, logprobs, finish_reason: finish }] })
  return {
    write(event) {
      if (event.kind === 'delta') {
        const { text, logprobs } = event.delta
        return choice(event.choice, text, null, logprobs)
      }
      if (event.kind === 'end') return choice(event.choice, '', event.finish)
      frame = {
        id: event.id,
        object: 'text_completion',
        created: request.createdSeconds,
        model: event.model,
        ...(request.includeUsage && { usage: null }),
      }
      return ''
    },
    end(usage) {
      const counted = usage !== undefined && request.includeUsage
      const last = counted ? chunk({ choices: [], usage: usageOf(usage) }) : ''
      return `${last}${STREAM_END}`
    },
  }
}
