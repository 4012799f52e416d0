/** The parts of a request for a response that a chat completion cannot say. */
import type { ChatRequest } from '../../../inner-form.ts'
import type { AskedExtra } from '../../../providers/extras/names.ts'

type Lack = NonNullable<ChatRequest['untranslated']>

export class Lacks {
  first: Lack | undefined
  /** Files of the account. */
  readonly files: AskedExtra[] = []

  /** Only an upstream that has responses itself takes the request then. */
  note(message: string, param: string): void {
    this.first ??= { message, param }
  }

  noteFile(message: string, param: string): void {
    this.files.push({ extra: 'files', param })
    this.note(message, param)
  }
}
