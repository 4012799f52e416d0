/** How an API reads its bodies, and the facts about a body before its tree is read. */
import type { Form } from '../base/form.ts'
import type { Found, Span } from '../json/found.ts'
import type { ModelRequest } from './inner-form.ts'

/** How an API reads its bodies. */
export interface Reading<Request extends ModelRequest> {
  /** Top-level members that the API reads; other long members of a large body are dropped. */
  readonly members: ReadonlySet<string>
  /** Throws ERR_GW_INVALID_REQUEST with the member that is at fault. */
  request(tree: unknown, facts: BodyFacts): Request
  /** Makes the body of the inner form from the tree again; absent: the tree itself is the body. */
  body?(tree: unknown): Request['body']
}

/** Facts about a body that are known before its tree is read. */
export interface BodyFacts {
  readonly bytes: Buffer
  readonly found: Found | undefined
  readonly form?: Form
  readonly spans: ReadonlyMap<string, Span>
  /** Seconds since 1970. */
  readonly createdSeconds: number
  /** Whether all text is ASCII. */
  readonly sparse: boolean
}
