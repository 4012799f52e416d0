/** How an API reads its bodies, and what is known of one before its tree is read. */
import type { Form } from '../base/form.ts'
import type { Found, Span } from '../json/found.ts'
import type { ModelRequest } from './inner-form.ts'

/** How an API reads its bodies. */
export interface Reading<Request extends ModelRequest> {
  /** Top-level members that the API reads: of a large body no other long member is kept. */
  readonly members: ReadonlySet<string>
  /** Throws ERR_GW_INVALID_REQUEST with the member that is at fault. */
  request(tree: unknown, facts: BodyFacts): Request
  /** The body of the inner form, made anew of a tree that has been a request; absent: the tree itself. */
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
  /** All its text is ASCII. */
  readonly sparse: boolean
}
