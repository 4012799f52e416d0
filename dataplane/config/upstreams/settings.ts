/** An upstream as the gateway uses it: its address, clocks and the facts about its model. */
import { ByPattern } from '../../accounts/by-pattern.ts'
import { patternOf } from '../../accounts/further/selectors.ts'
import { capabilitiesOf, knownWindow } from '../../providers/facts-of-models.ts'
import { PROVIDERS } from '../../providers/index.ts'
import { ANY_MODEL, FIRST_CONTENT_SECONDS, POOL_DOMAIN } from '../../schema/constants.ts'
import type { UpstreamSection } from '../../schema/index.ts'
import type { Provider, ProviderSettings } from '../../wire/provider.ts'
import type { AddressSettings } from '../../wire/provider-facts.ts'
import { resolved, serverOf, splitEndpoint } from './address.ts'
import { parametersOf, type UpstreamParameters } from './parameters.ts'

export interface UpstreamSettings extends ProviderSettings {
  readonly name: string
  /** Further secrets to mask: parts of the credential, and the configured one with which it was fetched. */
  readonly otherSecrets?: readonly string[]
  /** All its keys, if there are several; `credential` is one of them. */
  readonly keys: readonly string[] | undefined
  /** Why the upstream gets no requests; undefined if it may. */
  readonly disabled: string | undefined
  readonly provider: Provider
  /** Scheme, host and port; where the connection pool goes. */
  readonly origin: string
  /** The same for telemetry. */
  readonly server: { readonly address: string; readonly port: number }
  /** Path prefix without a trailing slash, ending in the API version where the provider has one. */
  readonly basePath: string
  readonly section: UpstreamSection
  /** Whether the upstream takes a model of this name, if it gets the model that the client names. */
  readonly takesModel: ((name: string) => boolean) | undefined
  /** Whether the client has named the model. */
  readonly isNamed: boolean
  /** Whether the name of the model shows that it makes vectors, not texts. */
  readonly isForVectors: boolean
  /** Until the first content of a stream. */
  readonly timeoutMs: number
  /** Until the head of an answer that is not a stream; Infinity: the request's own time is its only limit. */
  readonly wholeTimeoutMs: number
  readonly idleTimeoutMs: number
  readonly contextWindow: number | undefined
  /** The parameters that it gets besides those of the client, or in their place; undefined: none. */
  readonly parameters: UpstreamParameters | undefined
  /** Extra request headers, lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /** Milliseconds since 1970 until which it gets no new requests. */
  readonly drainedUntilMs: number | undefined
  /** Path of probes; undefined if the upstream is not probed. */
  readonly healthPath: string | undefined
}

const FOR_VECTORS = /embed/i

/** `named`: the model that the client named, for an upstream that gets it. */
export function settingsOf(
  written: UpstreamSection,
  disabled: string | undefined,
  named?: string,
): UpstreamSettings {
  const section = named === undefined ? written : sectionFor(written, named)
  const provider = PROVIDERS.get(section.provider) as Provider
  const address = addressOf(section)
  const endpoint =
    section.endpoint ?? placeOf(section.pool) ?? resolved(provider.defaultEndpoint, address) ?? ''
  const { origin, basePath } = splitEndpoint(endpoint, provider, address)
  const probed = section.health_check !== undefined || provider.healthPath !== undefined
  return Object.freeze({
    name: section.name,
    keys: keysOf(section),
    disabled,
    provider,
    origin,
    server: serverOf(origin),
    basePath,
    section,
    isForVectors: provider.operations.embeddings !== undefined && FOR_VECTORS.test(section.model),
    takesModel: takerOf(section),
    isNamed: named !== undefined,
    model: section.model,
    capabilities: capabilitiesOf(section),
    inputType: section.embeddings?.input_type,
    credential: section.api_key ?? '',
    ...address,
    timeoutMs: (section.timeout_seconds ?? FIRST_CONTENT_SECONDS) * 1000,
    wholeTimeoutMs: (section.timeout_seconds ?? Number.POSITIVE_INFINITY) * 1000,
    idleTimeoutMs: section.idle_timeout_seconds * 1000,
    contextWindow: knownWindow(section),
    parameters: parametersOf(section),
    drainedUntilMs:
      section.drained_until === undefined ? undefined : Date.parse(section.drained_until),
    native: nativeOf(section, provider),
    allow: section.allow,
    headers: lowerCaseNames(section.headers ?? {}),
    healthPath:
      probed && disabled === undefined
        ? (section.health_check?.path ?? provider.healthPath ?? '/health')
        : undefined,
  })
}

/** The context window of a model that a client names, if the configuration or the table of models has it. */
export function namedWindow(section: UpstreamSection, model: string): number | undefined {
  return knownWindow(sectionFor(section, model))
}

function sectionFor(written: UpstreamSection, model: string): UpstreamSection {
  const context_window = new ByPattern(Object.entries(written.context_windows ?? {})).get(model)
  return { ...written, model, ...(context_window !== undefined && { context_window }) }
}

function takerOf({ model, models }: UpstreamSection): UpstreamSettings['takesModel'] {
  if (model !== ANY_MODEL) return undefined
  const patterns = models?.map(patternOf)
  return patterns === undefined ? () => true : (name) => patterns.some((fits) => fits(name))
}

function keysOf({ api_key, further_api_keys }: UpstreamSection): readonly string[] | undefined {
  if (api_key === undefined || further_api_keys === undefined) return undefined
  return [api_key, ...further_api_keys]
}

/** Host name for messages and the Host header. */
function placeOf(pool: UpstreamSection['pool']): string | undefined {
  if (pool === undefined) return undefined
  const { name, namespace } = pool
  return `http://${namespace === undefined ? name : `${name}.${namespace}`}${POOL_DOMAIN}`
}

function addressOf(section: UpstreamSection): AddressSettings {
  const { api_version: apiVersion, deployment, region, project } = section
  return { apiVersion, deployment, region, project }
}

/** The names of the wires; undefined if there are none. */
function nativeOf(
  section: UpstreamSection,
  { natives, nativeDefault, operations }: Provider,
): readonly string[] | undefined {
  const { native, capabilities } = section
  const apis = native ?? capabilities?.wires ?? nativeDefault?.(addressOf(section)) ?? []
  if (natives === undefined || apis.length === 0) return undefined
  const known = operations.chat?.natives ?? []
  return known.filter(({ api }) => apis.includes(api)).map(({ wire }) => wire)
}

function lowerCaseNames(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  )
}
