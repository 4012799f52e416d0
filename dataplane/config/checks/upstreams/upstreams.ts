/** Settings that a provider requires, and settings that it would ignore. */
import { valueBelow } from '../../../json/values.ts'
import { knownWindow } from '../../../providers/facts-of-models.ts'
import { PROVIDER_FACTS } from '../../../providers/index.ts'
import { ANY_MODEL, FIRST_CONTENT_SECONDS } from '../../../schema/constants.ts'
import type { UpstreamSection } from '../../../schema/index.ts'
import { PROVIDER_SETTINGS } from '../../../wire/provider-facts.ts'
import { type Finding, type Path, refuse, warn } from '../../judgement/problems.ts'
import { at, type Check } from '../contract.ts'

type UpstreamCheck = (upstream: UpstreamSection, path: Path) => Finding[]

/** `connect_timeout_seconds`, if it is absent. */
const CONNECT_SECONDS_DEFAULT = 2

const HEADER = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/
const CALLER_FACTS: ReadonlySet<string> = new Set(['tenant', 'key', 'route'])
/** Headers that the gateway or the connection writes. */
const OWN_HEADERS = [
  ...[
    'accept',
    'accept-encoding',
    'connection',
    'content-length',
    'content-type',
    'expect',
    'host',
  ],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade', 'x-request-id', 'x-client-request-id'],
  ...['traceparent', 'tracestate'],
]

const selfHostedHasEndpoint: UpstreamCheck = ({ provider, endpoint, endpoints }, path) => {
  const { hosted, port = 'port' } = PROVIDER_FACTS[provider]
  if (hosted || endpoint !== undefined || endpoints === 'pool') return []
  const message = `required: ${provider} is a self-hosted runtime`
  const fix = `Add endpoint: http://host:${port}, where the runtime listens.`
  return [refuse([...path, 'endpoint'], message, fix)]
}

const hostedHasAddress: UpstreamCheck = (upstream, path) => {
  const { requires } = PROVIDER_FACTS[upstream.provider]
  if (requires === undefined || upstream.endpoint !== undefined) return []
  const { setting, message, fix } = requires
  return upstream[setting] === undefined ? [refuse([...path, setting], message, fix)] : []
}

/** The region becomes part of a host name. */
const regionIsALabel: UpstreamCheck = ({ region }, path) =>
  region === undefined || /^[a-z0-9-]{1,63}$/.test(region) || region.includes('${')
    ? []
    : [
        refuse(
          [...path, 'region'],
          'is not the name of a region',
          'Write lower-case letters, digits and dashes, such as eu-central-1.',
        ),
      ]

const hostedHasCredential: UpstreamCheck = (upstream, path) => {
  const { provider, endpoint, api_key, headers } = upstream
  const { hosted, keyless } = PROVIDER_FACTS[provider]
  if (!hosted || keyless?.every((setting) => upstream[setting] !== undefined)) return []
  if (api_key !== undefined || headers !== undefined || endpoint !== undefined) return []
  const message = `required: ${provider} refuses every request without a credential`
  const fix = 'Add api_key: ${env:NAME} or a secret reference'
  const other = keyless && `, or ${keyless.join(' and ')} for the identity of the gateway itself`
  return [refuse([...path, 'api_key'], message, `${fix}${other ?? ''}.`)]
}

const providerSettingsAreUsed: UpstreamCheck = (upstream, path) =>
  PROVIDER_SETTINGS.flatMap((field) => {
    if (!Object.hasOwn(upstream, field)) return []
    const users = Object.values(PROVIDER_FACTS)
      .filter(({ settings }) => settings?.includes(field))
      .map(({ name }) => name)
    if (users.includes(upstream.provider)) return []
    const message = `cannot take effect: ${upstream.provider} has no ${field}`
    return [refuse([...path, field], message, `Remove it; ${users.join(', ')} use it.`)]
  })

const versionIsKnown: UpstreamCheck = ({ provider, api_version }, path) => {
  const { apiVersions } = PROVIDER_FACTS[provider]
  if (api_version === undefined || apiVersions?.includes(api_version) !== false) return []
  const message = `is not a version of ${provider}`
  return [refuse([...path, 'api_version'], message, `Write ${apiVersions.join(' or ')}.`)]
}

const settingsStandTogether: UpstreamCheck = (upstream, path) => {
  const { together = [] } = PROVIDER_FACTS[upstream.provider]
  const missing = together.filter((setting) => upstream[setting] === undefined)
  if (missing.length === 0) return []
  const given = together.filter((setting) => upstream[setting] !== undefined)
  const message = `cannot take effect without ${missing.join(' and ')}`
  return given.map((setting) =>
    refuse([...path, setting], message, `Add ${missing.join(' and ')}, or remove ${setting}.`),
  )
}

const inputTypeIsUsed: UpstreamCheck = ({ provider, embeddings }, path) => {
  if (embeddings?.input_type === undefined || PROVIDER_FACTS[provider].takesInputType) return []
  const users = Object.values(PROVIDER_FACTS).filter(({ takesInputType }) => takesInputType)
  const message = `cannot take effect: ${provider} asks for no purpose of vectors`
  const fix = `Remove it; ${users.map(({ name }) => name).join(', ')} use it.`
  return [refuse([...path, 'embeddings', 'input_type'], message, fix)]
}

const saltIsTaken: UpstreamCheck = ({ provider, cache_salt, native }, path) => {
  if (cache_salt === undefined) return []
  if (!PROVIDER_FACTS[provider].takesCacheSalt) {
    const users = Object.values(PROVIDER_FACTS).filter(({ takesCacheSalt }) => takesCacheSalt)
    const message = `cannot take effect: ${provider} takes no salt for its prefix cache`
    const fix = `Remove it; ${users.map(({ name }) => name).join(', ')} use it.`
    return [refuse([...path, 'cache_salt'], message, fix)]
  }
  if (!native?.includes('messages')) return []
  const message = 'cannot take effect for messages, which have no member for it'
  return [refuse([...path, 'cache_salt'], message, 'Remove messages from native.')]
}

/** A header may be listed once, and not if the gateway writes it. */
const callerHeadersAreFree: UpstreamCheck = ({ caller_headers, headers, provider }, path) => {
  const { credentialHeader = 'authorization' } = PROVIDER_FACTS[provider]
  const taken = new Set([...Object.keys(headers ?? {}), credentialHeader, ...OWN_HEADERS])
  const lower = new Set([...taken].map((one) => one.toLowerCase()))
  const seen = new Set<string>()
  return Object.entries(caller_headers ?? {}).flatMap(([written, fact]) => {
    const field = [...path, 'caller_headers', written]
    const fix = 'Write a name such as x-tenant, and tenant, key or route as its value.'
    if (!HEADER.test(written)) return [refuse(field, 'is not the name of a header', fix)]
    if (!CALLER_FACTS.has(fact)) return [refuse(field, 'is no fact about a caller', fix)]
    const header = written.toLowerCase()
    const isFree = !lower.has(header) && !seen.has(header)
    seen.add(header)
    if (isFree) return []
    const message = 'is a header that is sent already'
    return [refuse(field, message, 'Take another name.')]
  })
}

const nativeIsSpoken: UpstreamCheck = ({ provider, native }, path) => {
  const { natives = [] } = PROVIDER_FACTS[provider]
  return (native ?? []).flatMap((api, index) => {
    if (natives.includes(api)) return []
    const users = Object.values(PROVIDER_FACTS).filter((facts) => facts.natives?.includes(api))
    const message = `cannot take effect: requests are not passed to ${provider} as ${api}`
    const fix = `Remove it: they are translated; ${users.map(({ name }) => name).join(', ')} may have it.`
    return [refuse([...path, 'native', index], message, fix)]
  })
}

const runtimeSettingsAreUsed: UpstreamCheck = (upstream, path) => {
  if (!PROVIDER_FACTS[upstream.provider].hosted) return []
  const fields: Path[] = []
  if (upstream.queue_metrics !== undefined) fields.push(['queue_metrics'])
  if (upstream.tokenizer?.upstream === true) fields.push(['tokenizer', 'upstream'])
  if (upstream.tokenizer_autodetect === true) fields.push(['tokenizer_autodetect'])
  if (upstream.tokenizer_revision !== undefined) fields.push(['tokenizer_revision'])
  return fields.map((field) => {
    const message = `cannot take effect: ${upstream.provider} is a hosted API`
    return refuse([...path, ...field], message, 'Remove it; only self-hosted runtimes have it.')
  })
}

const tokenizerIsOneChoice: UpstreamCheck = ({ tokenizer }, path) => {
  if (tokenizer === undefined) return []
  const { encoding, file, upstream } = tokenizer
  const choices = [encoding, file, upstream === true ? upstream : undefined]
  const chosen = choices.filter((choice) => choice !== undefined).length
  if (chosen === 1) return []
  const message = chosen === 0 ? 'chooses no tokenizer' : 'chooses several tokenizers'
  return [refuse([...path, 'tokenizer'], message, 'Keep one of encoding, file, upstream: true.')]
}

const runtimeCountsTokens: UpstreamCheck = ({ provider, tokenizer }, path) => {
  const { hosted, tokenQuestions } = PROVIDER_FACTS[provider]
  if (tokenizer?.upstream !== true || hosted || tokenQuestions !== undefined) return []
  const users = Object.values(PROVIDER_FACTS).filter(({ tokenQuestions: some }) => some)
  const message = `cannot take effect: ${provider} has no path that counts tokens`
  const fix = `Name a file or an encoding; ${users.map(({ name }) => name).join(', ')} count tokens.`
  return [refuse([...path, 'tokenizer', 'upstream'], message, fix)]
}

const connectFitsTimeout: UpstreamCheck = (upstream, path) => {
  const { connect_timeout_seconds: connect, timeout_seconds: whole = FIRST_CONTENT_SECONDS } =
    upstream
  if (connect <= whole || connect === CONNECT_SECONDS_DEFAULT) return []
  const message = `cannot be reached: timeout_seconds is ${whole}, and connecting is part of it`
  return [refuse([...path, 'connect_timeout_seconds'], message, `Write at most ${whole}.`)]
}

const contextWindowIsKnown: UpstreamCheck = (upstream, path) => {
  if (upstream.model === ANY_MODEL || knownWindow(upstream) !== undefined) return []
  const message = PROVIDER_FACTS[upstream.provider].hosted
    ? 'no context window known: the context check is off for this upstream'
    : 'no context window known here: the context check is off while the runtime does not tell it'
  const fix = 'Add context_window: with the tokens that prompt and answer may hold together.'
  return [warn(path, message, fix)]
}

/** Many services imitate the API of OpenAI; some do so imperfectly. */
const runtimeIsNamed: UpstreamCheck = ({ provider, endpoint }, path) => {
  const { services, name } = PROVIDER_FACTS[provider]
  if (services === undefined || endpoint === undefined) return []
  const port = URL.parse(endpoint)?.port
  const other = Object.values(PROVIDER_FACTS).find(
    (facts) => facts.lostInOpenAi !== undefined && String(facts.port) === port,
  )
  if (other === undefined) return []
  const message = `is the port of ${other.name}, which loses ${other.lostInOpenAi} when it is asked as ${name}`
  return [warn([...path, 'endpoint'], message, `Write provider: ${other.name}.`)]
}

/** Only a written value can be a mistake; defaults may exceed the timeout of the gateway. */
const timeoutFitsTheGateway: Check = ({ gateway, upstreams }, { written }) =>
  upstreams.flatMap(({ timeout_seconds }, index) =>
    timeout_seconds !== undefined &&
    timeout_seconds > gateway.request_timeout_seconds &&
    valueBelow(written, ...at('upstreams', index, 'timeout_seconds')) !== undefined
      ? [
          warn(
            at('upstreams', index, 'timeout_seconds'),
            `${timeout_seconds} s cannot be reached: gateway.request_timeout_seconds is ${gateway.request_timeout_seconds}`,
            `Write at most ${gateway.request_timeout_seconds}, or raise the gateway's.`,
          ),
        ]
      : [],
  )

const PER_UPSTREAM: readonly UpstreamCheck[] = [
  selfHostedHasEndpoint,
  hostedHasAddress,
  regionIsALabel,
  hostedHasCredential,
  providerSettingsAreUsed,
  versionIsKnown,
  settingsStandTogether,
  inputTypeIsUsed,
  nativeIsSpoken,
  saltIsTaken,
  callerHeadersAreFree,
  runtimeSettingsAreUsed,
  tokenizerIsOneChoice,
  runtimeCountsTokens,
  connectFitsTimeout,
  contextWindowIsKnown,
  runtimeIsNamed,
]

export const upstreamChecks: readonly Check[] = [
  ...PER_UPSTREAM.map(
    (one): Check =>
      ({ upstreams }) =>
        upstreams.flatMap((upstream, index) => one(upstream, at('upstreams', index))),
  ),
  timeoutFitsTheGateway,
]
