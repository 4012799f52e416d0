/** Written facts about a model that its provider would ignore, or that contradict each other. */
import { capabilitiesOf } from '../../../providers/facts-of-models.ts'
import { PROVIDER_FACTS } from '../../../providers/index.ts'
import type { UpstreamSection } from '../../../schema/index.ts'
import { CHAT_TEMPLATES, WRITTEN_AS, type WrittenName } from '../../../wire/models/capabilities.ts'
import type { ProviderFacts } from '../../../wire/provider-facts.ts'
import { type Finding, type Path, refuse, warn } from '../../judgement/problems.ts'
import { at, type Check } from '../contract.ts'

type WrittenFacts = NonNullable<UpstreamSection['capabilities']>
type UpstreamCheck = (upstream: UpstreamSection, written: WrittenFacts, path: Path) => Finding[]

/** Every API with chats takes these. */
const OF_ALL: readonly WrittenName[] = ['tool_name_length', 'output_tokens']
const NAMES: readonly WrittenName[] = [...(Object.keys(WRITTEN_AS) as WrittenName[]), 'wires']
/** These describe how a model reasons. */
const OF_REASONING: readonly WrittenName[] = ['efforts', 'thinking', 'thinking_tokens']

const factsAreUsed: UpstreamCheck = ({ provider }, written, path) =>
  NAMES.flatMap((name) => {
    const value = written[name]
    const allowed = valuesOf(PROVIDER_FACTS[provider], name)
    if (value === undefined || allowed === true) return []
    if (allowed === undefined) {
      const users = Object.values(PROVIDER_FACTS).filter((facts) => valuesOf(facts, name))
      const message = `cannot take effect: ${provider} does not use it`
      const fix = `Remove it; ${users.map((facts) => facts.name).join(', ')} use it.`
      return [refuse([...path, name], message, fix)]
    }
    const others = [value].flat().filter((one) => !allowed.includes(String(one)))
    const message = `cannot take effect: ${provider} does not support ${others.join(', ')}`
    const fix = `Write ${allowed.join(', ')}, or remove it.`
    return others.length === 0 ? [] : [refuse([...path, name], message, fix)]
  })

function valuesOf(
  { writable = {} }: Pick<ProviderFacts, 'writable'>,
  name: WrittenName,
): true | readonly string[] | undefined {
  return OF_ALL.includes(name) ? true : writable[name]
}

const thinkingIsOne: UpstreamCheck = (upstream, written, path) => {
  if (written.reasoning === false) {
    const message = 'cannot take effect with reasoning: false'
    return OF_REASONING.filter((name) => written[name] !== undefined).map((name) =>
      refuse([...path, name], message, `Remove ${name}, or write reasoning: true.`),
    )
  }
  const { thinking_tokens: tokens, output_tokens: output } = written
  if (tokens === undefined) return []
  const field = [...path, 'thinking_tokens']
  const isChosen = Array.isArray(PROVIDER_FACTS[upstream.provider].writable?.thinking)
  const { thinking } = capabilitiesOf(upstream)
  if (isChosen && thinking !== 'budget') {
    const message = `cannot take effect: the model is asked to think by ${thinking ?? 'another form'}`
    return [refuse(field, message, 'Add thinking: budget, or remove it.')]
  }
  if (output === undefined || tokens < output) return []
  const message = `leaves no room for an answer: output_tokens is ${output}`
  return [refuse(field, message, `Write less than ${output}.`)]
}

const wiresServe: UpstreamCheck = ({ provider, native }, { wires }, path) => {
  if (wires === undefined) return []
  const { asksResponses, writable } = PROVIDER_FACTS[provider]
  if (writable?.wires === undefined) return []
  const isServed = wires.includes('chat') || (asksResponses === true && wires.includes('responses'))
  const unserved = isServed
    ? []
    : [
        refuse(
          [...path, 'wires'],
          `leaves chats without an API: ${provider} is asked by none of these`,
          asksResponses ? 'Add chat or responses.' : 'Add chat.',
        ),
      ]
  const closed = (native ?? []).flatMap((api, index) =>
    wires.includes(api)
      ? []
      : [
          refuse(
            [...path.slice(0, -1), 'native', index],
            `cannot take effect: capabilities.wires has no ${api}`,
            `Remove it, or add ${api} to capabilities.wires.`,
          ),
        ],
  )
  return [...unserved, ...closed]
}

const templateIsUsed: UpstreamCheck = (upstream, { chat_template }, path) => {
  const { needsTemplate, apiVersions = [], writable } = PROVIDER_FACTS[upstream.provider]
  if (chat_template === undefined || writable?.chat_template === undefined) return []
  if (needsTemplate?.({ apiVersion: upstream.api_version })) return []
  const message = 'cannot take effect: the server itself writes conversations as texts'
  const fix = `Remove it, or write api_version: ${apiVersions.at(-1)}.`
  return [refuse([...path, 'chat_template'], message, fix)]
}

const templateIsThere: Check = ({ upstreams }) =>
  upstreams.flatMap(({ provider, api_version: apiVersion, capabilities }, index) => {
    const isMissing = capabilities?.chat_template === undefined
    if (!isMissing || !PROVIDER_FACTS[provider].needsTemplate?.({ apiVersion })) return []
    const message = `chats are refused here: with api_version ${apiVersion} the server takes only texts`
    const fix = `Add capabilities: {chat_template: ${CHAT_TEMPLATES[0]}}, or the template of the model.`
    return [warn(at('upstreams', index, 'api_version'), message, fix)]
  })

const PER_UPSTREAM: readonly UpstreamCheck[] = [
  factsAreUsed,
  thinkingIsOne,
  wiresServe,
  templateIsUsed,
]

const ofEach = PER_UPSTREAM.map(
  (one): Check =>
    ({ upstreams }) =>
      upstreams.flatMap((upstream, index) =>
        upstream.capabilities === undefined
          ? []
          : one(upstream, upstream.capabilities, at('upstreams', index, 'capabilities')),
      ),
)

export const capabilityChecks: readonly Check[] = [...ofEach, templateIsThere]
