/** The facts about a provider that other folders may use. */

import type { Extra } from './extras.ts'
import type { ModelRow, WrittenName } from './models/capabilities.ts'
import type { VendorParameter } from './models/parameters.ts'
import type { RevisionQuestion } from './revisions.ts'
import type { WindowQuestion } from './window-questions.ts'

/** Settings of an upstream that only some providers support. */
export const PROVIDER_SETTINGS = ['region', 'project', 'deployment', 'api_version'] as const
export type ProviderSetting = (typeof PROVIDER_SETTINGS)[number]

/** APIs of clients that an upstream may speak beside its own. */
export const NATIVE_APIS = ['responses', 'messages'] as const
export type NativeApi = (typeof NATIVE_APIS)[number]

/** The settings that may determine an upstream's address. */
export interface AddressSettings {
  readonly apiVersion: string | undefined
  readonly deployment: string | undefined
  readonly region: string | undefined
  readonly project: string | undefined
}

/** The settings on which the price of a model depends. */
export type ListedPlace = Pick<AddressSettings, 'region' | 'project'>

/** A setting that the provider's address requires, and the text of the refusal. */
export interface Requirement {
  /** An `endpoint` always satisfies the requirement, too. */
  readonly setting: 'endpoint' | 'region'
  readonly message: string
  readonly fix: string
}

export interface Gauge {
  readonly metric: string
  /** Only series with these labels count; a missing label counts as empty. */
  readonly labels?: Readonly<Record<string, string>>
}

/** How a runtime reports its queue on `/metrics`. */
export interface QueueGauges {
  /** Names of the metric; the first reported one counts. */
  readonly waiting: readonly Gauge[]
  readonly running: readonly Gauge[]
  /** Used fraction of the KV cache, from 0 to 1. */
  readonly kvShare?: readonly Gauge[]
  /** Whether `/metrics` needs the credential; other runtimes do not get it. */
  readonly needsCredential?: boolean
}

/** A conversation whose tokens a runtime counts. */
export interface Counted {
  readonly messages: readonly object[]
  readonly tools?: unknown
  /** All its texts, one after the other. */
  readonly text: string
}

/** How to ask a runtime for the tokens of a conversation. */
export interface TokenQuestion {
  readonly method: 'GET' | 'POST'
  /** Path below the base URL without its API version. */
  readonly path: string
  /** Whether the runtime counts only texts, so that the gateway adds the tokens around messages by rule. */
  readonly isPlain?: boolean
  write(model: string, conversation: Counted): object
  /** undefined for an answer without a count. */
  read(answer: unknown): number | undefined
}

/** The form of names and ids that an API takes in conversations. */
export interface CallRules {
  /** Names of tools, of any length. */
  readonly name: RegExp
  /** The most letters of one. */
  readonly nameMax: number
  /**
   * Ids of calls, each of which may appear in a history once; absent: it accepts any ids, or has
   * none.
   */
  readonly id?: RegExp
  /** The most letters of an id; absent: any number. */
  readonly idMax?: number
}

/** The prompts that a model caches up to a mark, in tokens. */
export interface Cacheable {
  readonly from: number
  /** Absent: no upper limit. */
  readonly to?: number
}

export interface ProviderFacts {
  readonly name: string
  /** One sentence for the table of providers. */
  readonly summary: string
  /** Name in the semantic conventions of OpenTelemetry, if it differs. */
  readonly genAiName?: string
  /** Whether it is an API on the Internet; else a runtime that you run. */
  readonly hosted: boolean
  /** Other names for configurations, reduced to lower-case letters and digits. */
  readonly aliases?: readonly string[]
  /** Further spellings that editors accept. */
  readonly spellings?: readonly string[]
  /** Services without a provider whose API is exactly the same: their names and endpoints. */
  readonly services?: Readonly<Record<string, string>>
  /** Base URL of the hosted API if the configuration sets none. */
  readonly defaultEndpoint?: string | ((settings: AddressSettings) => string)
  /** The path that is appended to an endpoint without an API version, such as `/v1beta`; absent: `/v1`; empty: nothing. */
  readonly versionPath?: string | ((settings: AddressSettings) => string)
  /** Computes the base path of requests from the endpoint's path without a trailing slash, if it depends on more than that. */
  readonly basePath?: (path: string, settings: AddressSettings) => string
  /** The port on which a runtime listens by default. */
  readonly port?: number
  /** Features that provider openai would lose with this runtime; absent: none, or other programs use the same port. */
  readonly lostInOpenAi?: string
  /** Path on the endpoint's origin that answers 200 without a key; absent for hosted APIs. */
  readonly healthPath?: string
  readonly settings?: readonly ProviderSetting[]
  /** Whether conversations need `capabilities.chat_template`; absent: none does. */
  readonly needsTemplate?: (settings: Pick<AddressSettings, 'apiVersion'>) => boolean
  /** The only values of `api_version`; absent: any. */
  readonly apiVersions?: readonly string[]
  /**
   * The facts about a model, or the values of one fact, that a configuration may set; all APIs
   * accept lengths of names and limits.
   */
  readonly writable?: Readonly<Partial<Record<WrittenName, true | readonly string[]>>>
  /** Whether the gateway sends conversations as responses if the model accepts only responses. */
  readonly asksResponses?: boolean
  /** Absent if it accepts all names and ids. */
  readonly calls?: CallRules
  /** The values of a limit of tokens that mean no limit there, like an absent limit. */
  readonly noLimits?: readonly number[]
  /** The APIs that `native` may name; absent: all requests are translated. */
  readonly natives?: readonly NativeApi[]
  /** Native APIs if the configuration names none. */
  readonly nativeDefault?: (settings: AddressSettings) => readonly NativeApi[]
  /** Parameters of its API besides those that the gateway translates, which `parameters` of an upstream may set. */
  readonly parameters?: Readonly<Record<string, VendorParameter>>
  /** Extras besides tokens in its API; each upstream's `allow` selects from them. */
  readonly extras?: readonly Extra[]
  /** The names of a model in LiteLLM's price list, the best one first; absent: no listed price applies. */
  readonly listedAs?: (model: string, place: ListedPlace) => readonly string[]
  /** Whether the usage counts searches, which have a price. */
  readonly countsSearches?: boolean
  /** Members of other servers' APIs that the provider refuses by name. */
  readonly foreign?: readonly string[]
  /** Whether the API needs the purpose of vectors, from `embeddings.input_type`. */
  readonly takesInputType?: boolean
  /**
   * The prompts that a model caches up to a mark; undefined: it accepts no marks, or is unknown.
   * Absent if the API has no marks.
   */
  readonly cacheable?: (model: string) => Cacheable | undefined
  /** Whether it separates prefixes by the salt in a request. */
  readonly takesCacheSalt?: boolean
  /** The setting that determines the address; absent: runtimes require an endpoint, hosted APIs do not. */
  readonly requires?: Requirement
  /**
   * The settings with which the hosted API accepts the identity of the process instead of `api_key`; absent: it always
   * requires a key.
   */
  readonly keyless?: readonly ProviderSetting[]
  /**
   * Whether `api_key` may also be a JSON document of several lines, with which a credential is fetched if the settings
   * of `keyless` are set.
   */
  readonly takesKeyDocument?: boolean
  /** Settings that take effect only together. */
  readonly together?: readonly ProviderSetting[]
  /** The header that carries the credential; absent: `authorization`. */
  readonly credentialHeader?: string
  /** Where the API lists its models, below the base path; false: it has no such list. Absent: OpenAI's path. */
  readonly modelList?:
    | false
    | { readonly path: string; readonly headers?: Readonly<Record<string, string>> }
  /** Extracts the name of a model from a longer id; absent: the id is the name. */
  readonly modelName?: (id: string) => string
  /** The answer header with the provider's id of the request, if it is not one of the common headers. */
  readonly requestIdHeader?: string
  /**
   * The facts about its models: the first row that matches and has a fact; absent if no facts are
   * known.
   */
  readonly models?: readonly ModelRow[]
  /** Questions for a runtime's context window, the best one first; absent: the list of models. */
  readonly windowQuestions?: readonly WindowQuestion[]
  /** Questions for the revision of a runtime's model, the best one first; absent: the list of models. */
  readonly revisionQuestions?: readonly RevisionQuestion[]
  /** Questions for the tokens of a prompt, the best one first; absent if the runtime has no such path. */
  readonly tokenQuestions?: readonly TokenQuestion[]
  /** Absent if the runtime does not report its queue. */
  readonly queueGauges?: QueueGauges
}
