/** JSON that is too long to write at once: bytes and texts unchanged, and values that are made and written in steps. */
import { joining, Later, writing } from './writing.ts'

export { Later }

/** JSON from a request up to this size is written at once. */
export const AT_ONCE_BYTES = 65_536

export type Part = Buffer | string | Later

export class Unwritten {
  readonly #parts: readonly Part[]

  constructor(parts: readonly Part[]) {
    this.#parts = parts
  }

  /** Writes the value in pages. Yields where other work may run. */
  *steps(): Generator<undefined, Buffer[]> {
    const pages: Buffer[] = []
    for (const part of this.#parts)
      if (part instanceof Later) for (const page of yield* made(part)) pages.push(page)
      else if (part.length > 0) pages.push(typeof part === 'string' ? Buffer.from(part) : part)
    return pages
  }

  /** The same in one buffer. */
  *whole(): Generator<undefined, Buffer> {
    return yield* joining(yield* this.steps())
  }
}

function* made(part: Later): Generator<undefined, Buffer[]> {
  const value = yield* part.make()
  if (Buffer.isBuffer(value)) return [value]
  return yield* value instanceof Unwritten ? value.steps() : writing(value)
}

/** A body in JSON, made of a request of that many bytes. */
export function bodyOf(value: object, { length }: Pick<Buffer, 'length'>): string | Unwritten {
  return length <= AT_ONCE_BYTES ? JSON.stringify(value) : new Unwritten([later(value)])
}

/** The same of a member. */
export function memberOf(value: unknown, { length }: Pick<Buffer, 'length'>): string | Later {
  return length <= AT_ONCE_BYTES ? JSON.stringify(value) : later(value)
}

/** A value that is there. */
export function later(value: unknown): Later {
  // biome-ignore lint/correctness/useYield: it is there at once.
  return new Later(function* () {
    return value
  })
}
