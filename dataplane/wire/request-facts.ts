/** The part of the inner form that requests of all operations share: the client's bytes, and the facts that decide their way. */
import type { Found, Span } from '../json/found.ts'
import type { AskedExtra } from './extras.ts'

/** The facts that admission, routing and accounting know of a request of any operation. */
export interface RequestFacts {
  /** Providers remember thinking and signatures from one request to the next for one tenant alone. */
  tenant?: string | undefined
  /** The dialect in which the client wrote `bytes`. */
  readonly wire: string
  /** The body as received: what is forwarded, with splices, to an upstream that speaks the same wire. */
  readonly bytes: Buffer
  /** The finds of the scan of the bytes; undefined if they are no JSON. */
  readonly found: Found | undefined
  /** Where the top-level members' values stand in `bytes`, by name. */
  readonly spans: ReadonlyMap<string, Span>
  readonly stream: boolean
  /** The most tokens one answer may have, where the client says so. */
  readonly maxTokens: number | undefined
  /** Answers that were asked for. */
  readonly choices: number
  /** The most tokens that the prompt may have. */
  readonly promptTokensMax: number
  /** Its estimate, and the model as the client named it, for APIs whose answers say them. */
  readonly promptTokens?: number
  readonly named?: string
  /** Whether the client asked for usage beside every piece; upstreams that speak the same wire may give it. */
  readonly isUsageRepeated?: boolean
  /** Seconds since 1970 when it arrived: `created` of answers that a translation writes. */
  readonly createdSeconds: number
  /** All its text is ASCII: no character can be a separate token. */
  readonly sparse: boolean
  /** Headers of the client for an upstream that speaks the same wire, by lower-case name. */
  forwarded?: Readonly<Record<string, string>>
  /** The first part of it that `body` cannot say: only an upstream that speaks the same wire takes the request. */
  readonly untranslated?: { readonly param: string; readonly message: string }
  /** Parts of it that `body` leaves out, as the client knows them; an upstream that speaks the same wire sees them. */
  readonly dropped?: readonly string[] | undefined
  /** Those of them that only an upstream sees whose settings allow them. */
  readonly unsent?: readonly AskedExtra[] | undefined
  /** Extras that it asks for, which an upstream has to allow. */
  readonly extras?: readonly AskedExtra[]
  /** Members of `bytes` that are other ones for an upstream that speaks the same wire, as JSON text; undefined takes one out. */
  readonly edits?: ReadonlyMap<string, string | undefined>
  /** The path below the wire's own that is asked for; absent: the wire's own. */
  readonly below?: string
  /** The only upstreams that take it, by name: they keep what it goes on from, or what is to be kept of it. */
  readonly keepers?: ReadonlySet<string>
  /** Sealed parts are left out: only the account that made them can open them. */
  readonly isUnsealed?: boolean
  /** The client asks for thinking as long as the model likes, and for no effort. */
  readonly thinksFreely?: boolean
  /** The model is not asked to think, because it cannot. */
  readonly isUnthinking?: boolean
  /** `body` has been changed and says more than `bytes`, so it must not be made anew of them. */
  readonly isRewritten?: boolean
  /** Members of `bytes` that are not to be sent; `body` is without them already. */
  readonly omitted?: ReadonlySet<string>
  /** The omitted member that asks for an answer without a limit of tokens; few runtimes know such a value. */
  readonly unlimited?: { readonly member: string; readonly value: number } | undefined
}
