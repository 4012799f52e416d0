/** Marks a request whose tree was dropped to save memory; its bytes are kept. */
import type { ModelRequest } from './inner-form.ts'

/** Throws on a read, so that a dropped tree does not look like a missing member. */
export const GONE = new Proxy({} as ModelRequest['body'] & never, {
  get(_body, name) {
    throw new Error(`The tree was dropped before ${String(name)} was read.`)
  },
})

/** Whether the tree of the request was dropped. */
export function isForgotten({ body }: ModelRequest): boolean {
  return body === GONE
}
