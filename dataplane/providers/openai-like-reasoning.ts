/** One outward name for reasoning, the one most clients read: `reasoning_content`. */
import { listOf, recordOf } from './json-values.ts'

type Json = Readonly<Record<string, unknown>>

/** Stands in every event and answer that uses the other name. */
export const OTHER_NAME = '"reasoning"'

/** A message or a delta; the same object where nothing has to change. */
export function withReasoning(message: Json): Json {
  if (typeof message.reasoning !== 'string' || 'reasoning_content' in message) return message
  const { reasoning, ...rest } = message
  return { ...rest, reasoning_content: reasoning }
}

/** An answer or a chunk of one; the same object where nothing has to change. */
export function withReasonings(answer: Json, member: 'message' | 'delta'): Json {
  let renamed = false
  const choices = listOf(answer.choices).map((choice) => {
    const before = recordOf(recordOf(choice)[member])
    const after = withReasoning(before)
    if (after === before) return choice
    renamed = true
    return { ...recordOf(choice), [member]: after }
  })
  return renamed ? { ...answer, choices } : answer
}
