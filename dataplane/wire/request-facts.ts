/**
 * The part of the inner form that requests of all operations share: the client's bytes, and the facts for admission,
 * routing and accounting.
 */
import type { Found, Span } from '../json/found.ts'
import type { AskedExtra } from './extras.ts'

/** The facts about a request of any operation that admission, routing and accounting use. */
export interface RequestFacts {
  /** Providers store thinking and signatures between requests separately for each tenant. */
  tenant?: string | undefined
  /** The dialect in which the client wrote `bytes`. */
  readonly wire: string
  /** The body as received: what is forwarded, with splices, to an upstream that speaks the same wire. */
  readonly bytes: Buffer
  /** The result of the scan of `bytes`; undefined if they are not JSON. */
  readonly found: Found | undefined
  /** Positions of the values of top-level members in `bytes`, by name. */
  readonly spans: ReadonlyMap<string, Span>
  readonly stream: boolean
  /** Most tokens of one answer, if the client sets a limit. */
  readonly maxTokens: number | undefined
  /** Number of requested answers. */
  readonly choices: number
  /** Upper bound of the prompt's tokens. */
  readonly promptTokensMax: number
  /** The estimate of the prompt's tokens, and the client's name of the model, for APIs whose answers contain them. */
  readonly promptTokens?: number
  readonly named?: string
  /** Whether the client's API has a place for pictures of the model. */
  readonly takesPictures?: boolean
  /** Whether the client requested usage with every piece; upstreams with the same wire may send it. */
  readonly isUsageRepeated?: boolean
  /** Arrival in seconds since 1970: `created` of translated answers. */
  readonly createdSeconds: number
  /** Whether all text is ASCII, so that no character can be several tokens. */
  readonly sparse: boolean
  /** Headers of the client for an upstream with the same wire, by lower-case name. */
  forwarded?: Readonly<Record<string, string>>
  /**
   * The first part of the request that `body` cannot express, so that only an upstream with the same wire supports the
   * request.
   */
  readonly untranslated?: { readonly param: string; readonly message: string }
  /** Parts of the request that `body` omits, by the client's names; an upstream with the same wire gets them. */
  readonly dropped?: readonly string[] | undefined
  /** Those of the omitted parameters that APIs of vendors may have, by the vendors' common names. */
  readonly vendors?: Readonly<Record<string, unknown>> | undefined
  /** Those of the omitted parts that an upstream gets only if its settings allow them. */
  readonly unsent?: readonly AskedExtra[] | undefined
  /** Extras in the request, which an upstream has to allow. */
  readonly extras?: readonly AskedExtra[]
  /** Replacements for members of `bytes` for an upstream with the same wire, as JSON text; undefined removes a member. */
  readonly edits?: ReadonlyMap<string, string | undefined>
  /** The path below the wire's path; absent: the wire's path itself. */
  readonly below?: string
  /** The only upstreams for the request, by name, because they store the earlier conversation or have to store this one. */
  readonly keepers?: ReadonlySet<string>
  /** Whether sealed parts are omitted, because only the account that made them can open them. */
  readonly isUnsealed?: boolean
  /** The client asks for thinking as long as the model likes, and for no effort. */
  readonly thinksFreely?: boolean
  /** Whether the present upstream gets cache marks where the client sets none. */
  isAutoMarked?: boolean
  /** Whether `body` was changed, so that it must not be parsed from `bytes` again. */
  readonly isRewritten?: boolean
  /** Members of `bytes` that must not be sent; `body` omits them already. */
  readonly omitted?: ReadonlySet<string>
  /** The omitted member whose value means no limit of tokens; few runtimes support such a value. */
  readonly unlimited?: { readonly member: string; readonly value: number } | undefined
}
