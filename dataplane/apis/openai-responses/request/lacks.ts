/** The parts of a request for a response that a chat completion cannot express. */

import type { AskedExtra } from '../../../wire/extras.ts'
import type { ChatRequest } from '../../../wire/inner-form.ts'

type Lack = NonNullable<ChatRequest['untranslated']>

export class Lacks {
  first: Lack | undefined
  /** Files of the account. */
  readonly files: AskedExtra[] = []

  /** Only an upstream with the Responses API then accepts the request. */
  note(message: string, param: string): void {
    this.first ??= { message, param }
  }

  noteFile(message: string, param: string): void {
    this.files.push({ extra: 'files', param })
    this.note(message, param)
  }
}
