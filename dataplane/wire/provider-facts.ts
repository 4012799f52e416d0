/** The facts about a provider that the rest of the gateway may use. */
import type { Encoding } from './encodings.ts'
import type { Extra } from './extras.ts'
import type { RevisionQuestion } from './revisions.ts'
import type { WindowQuestion } from './window-questions.ts'

/** Settings of an upstream that only some providers understand. */
export const PROVIDER_SETTINGS = ['region', 'project', 'deployment', 'api_version'] as const
export type ProviderSetting = (typeof PROVIDER_SETTINGS)[number]

/** APIs of clients that an upstream may speak beside its own. */
export const NATIVE_APIS = ['responses', 'messages'] as const
export type NativeApi = (typeof NATIVE_APIS)[number]

/** The settings of an upstream that its address may depend on. */
export interface AddressSettings {
  readonly apiVersion: string | undefined
  readonly deployment: string | undefined
  readonly region: string | undefined
  readonly project: string | undefined
}

/** A setting without which the provider has no address, and what the refusal says. */
export interface Requirement {
  /** An `endpoint` always satisfies it too. */
  readonly setting: 'endpoint' | 'region'
  readonly message: string
  readonly fix: string
}

export interface Gauge {
  readonly metric: string
  /** Only series with these labels count; a label that a series lacks is empty. */
  readonly labels?: Readonly<Record<string, string>>
}

/** How a runtime reports its queue on `/metrics`. */
export interface QueueGauges {
  /** The first one reported is taken. */
  readonly waiting: readonly Gauge[]
  readonly running: readonly Gauge[]
  /** The used part of the memory for conversations, from 0 to 1. */
  readonly kvShare?: readonly Gauge[]
  /** Whether `/metrics` needs the credential; no other runtime is shown it. */
  readonly needsCredential?: boolean
}

/** A conversation whose tokens a runtime is asked for. */
export interface Counted {
  readonly messages: readonly object[]
  readonly tools?: unknown
  /** All its texts, one after the other. */
  readonly text: string
}

/** How a runtime is asked for the tokens of a conversation as its model reads it. */
export interface TokenQuestion {
  readonly method: 'GET' | 'POST'
  /** Below the endpoint's base without its API version. */
  readonly path: string
  /** It counts texts and knows no conversations: the tokens around messages are added by rule. */
  readonly isPlain?: boolean
  write(model: string, conversation: Counted): object
  /** undefined for an answer without a count. */
  read(answer: unknown): number | undefined
}

/** The form of names and ids that an API takes in conversations. */
export interface CallRules {
  /** Names of tools. */
  readonly name: RegExp
  /** The most letters of one. */
  readonly nameMax: number
  /** Ids of calls, each of which may stand in a history once; absent: it takes any, or has none. */
  readonly id?: RegExp
}

export interface ProviderFacts {
  readonly name: string
  /** One sentence for the table of providers. */
  readonly summary: string
  /** Its name in the semantic conventions of OpenTelemetry, where they have another. */
  readonly genAiName?: string
  /** An API on the internet; else a runtime that you run. */
  readonly hosted: boolean
  /** Other names that a configuration may use, by their letters and digits alone, in lower case. */
  readonly aliases?: readonly string[]
  /** Spellings that editors accept beside the name. */
  readonly spellings?: readonly string[]
  /** Services without a provider that speak exactly like it: their names and endpoints. */
  readonly services?: Readonly<Record<string, string>>
  /** Base URL of the hosted API when the configuration gives none. */
  readonly defaultEndpoint?: string | ((settings: AddressSettings) => string)
  /** The path that an endpoint without an API version gets, such as `/v1beta`; absent: `/v1`. Empty: none. */
  readonly versionPath?: string | ((settings: AddressSettings) => string)
  /** The base path of requests, where it depends on more: from the endpoint's path without a trailing slash. */
  readonly basePath?: (path: string, settings: AddressSettings) => string
  /** The port on which a runtime listens by default. */
  readonly port?: number
  /** The losses where the runtime is asked as if it were OpenAI; absent: nothing, or its port is that of many programs. */
  readonly lostInOpenAi?: string
  /** Path on the endpoint's origin that answers 200 without a key; absent for hosted APIs. */
  readonly healthPath?: string
  readonly settings?: readonly ProviderSetting[]
  /** Absent where it takes any names and ids. */
  readonly calls?: CallRules
  /** The values of a limit of tokens that mean no limit there, as an absent limit does. */
  readonly noLimits?: readonly number[]
  /** The APIs that `native` may name; absent: requests are translated to its own API. */
  readonly natives?: readonly NativeApi[]
  /** Those that hold where the configuration names none. */
  readonly nativeDefault?: (settings: AddressSettings) => readonly NativeApi[]
  /** Extras beside tokens that its API has; each upstream's `allow` names those that it gets. */
  readonly extras?: readonly Extra[]
  /** Whether its usage has the searches of an answer, which have a price. */
  readonly countsSearches?: boolean
  /** Members of other servers that are refused by name. */
  readonly foreign?: readonly string[]
  /** Whether it is to know the purpose of vectors, as `embeddings.input_type` says. */
  readonly takesInputType?: boolean
  /** Whether requests say up to where a prompt is to be cached. */
  readonly takesCacheMarks?: boolean
  /** Whether it keeps prefixes apart by the salt that a request names. */
  readonly takesCacheSalt?: boolean
  /** The setting that gives it an address; absent: every runtime requires an endpoint, and no hosted API does. */
  readonly requires?: Requirement
  /**
   * The settings with which the hosted API takes the identity of the process where `api_key` is absent; absent: it
   * always wants a key.
   */
  readonly keyless?: readonly ProviderSetting[]
  /**
   * Whether `api_key` may also be a JSON document of several lines that no request carries: a credential is fetched with
   * it, where the settings of `keyless` are there.
   */
  readonly takesKeyDocument?: boolean
  /** Settings that take effect only together. */
  readonly together?: readonly ProviderSetting[]
  /** The header that carries the credential; absent: `authorization`. */
  readonly credentialHeader?: string
  /** The name of a model in an id that holds more; absent: the id is the name. */
  readonly modelName?: (id: string) => string
  /** The header of its answers with its id of the request, where that is not one of the common headers. */
  readonly requestIdHeader?: string
  /** Context windows of its models that have one published size, by name without date or version. */
  readonly modelWindows?: Readonly<Record<string, number>>
  /** The published encodings of its models, by the beginnings of their names. */
  readonly modelEncodings?: Readonly<Record<string, Encoding>>
  /** How a runtime is asked for its context window, the best question first; absent: by its list of models. */
  readonly windowQuestions?: readonly WindowQuestion[]
  /** How a runtime is asked for the revision of its model, the best question first; absent: by its list of models. */
  readonly revisionQuestions?: readonly RevisionQuestion[]
  /** How a runtime is asked for the tokens of a prompt, the best question first; absent if it has no such path. */
  readonly tokenQuestions?: readonly TokenQuestion[]
  /** Absent if the runtime does not report its queue. */
  readonly queueGauges?: QueueGauges
}
