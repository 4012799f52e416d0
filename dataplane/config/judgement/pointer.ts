/** JSON pointers (RFC 6901) to places in the resource, and problems that carry them. */
import type { Finding, Path } from './problems.ts'

/** A fault with the JSON pointer of a field, for the status of the resource. */
export interface PointedProblem {
  readonly pointer: string
  readonly message: string
  readonly fix: string
  /** Code from the table of errors, if one applies. */
  readonly code?: string
}

export function pointerOf(path: Path): string {
  return path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

export function pointed({ path, message, fix, code }: Finding): PointedProblem {
  return { pointer: pointerOf(path), message, fix, ...(code !== undefined && { code }) }
}
