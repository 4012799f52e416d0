/** A guardrail is a sidecar that judges texts: it lets them pass, changes them, or blocks the request. */

/** A text and its role. */
export interface Said {
  readonly role: string
  readonly text: string
  /** Whether the text cannot change, such as a name or signed text: a guardrail that changes it blocks the request. */
  readonly isFixed?: boolean
}

export type Side = 'input' | 'output'

/** The request whose texts are judged. */
export interface Subject {
  readonly requestId: string
  readonly tenant: string
  readonly key: string
  readonly model: string
  /** Aborts the calls when the client leaves. */
  readonly signal?: AbortSignal | undefined
  /** Monotonic deadline of the request; a verdict on the input is not awaited longer. */
  readonly totalAt?: number
}

export type Verdict =
  | { readonly kind: 'pass' }
  /** One text for each judged text, in the same order. */
  | { readonly kind: 'mask'; readonly texts: readonly string[] }
  /** `message` is for the client. */
  | { readonly kind: 'block'; readonly message: string | undefined }

/** The protocol of a kind of sidecar. */
export interface Protocol {
  /** The path below the endpoint, and the body as JSON. */
  write(side: Side, texts: readonly Said[], subject: Subject): { path: string; body: object }
  /** undefined for an invalid answer. */
  read(side: Side, answer: unknown, judged: number): Verdict | undefined
}
