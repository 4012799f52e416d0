/** The parts of a request for a response that a chat completion cannot say. */
import type { ChatRequest } from '../../../inner-form.ts'

type Lack = NonNullable<ChatRequest['untranslated']>

export class Lacks {
  first: Lack | undefined

  /** Only an upstream that has responses itself takes the request then. */
  note(message: string, param: string): void {
    this.first ??= { message, param }
  }
}
