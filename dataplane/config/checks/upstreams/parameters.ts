/** Parameters that an upstream sets: names that its provider has, values of the right form, and an effect. */
import { isRecord, recordOf } from '../../../json/values.ts'
import { PROVIDER_FACTS } from '../../../providers/index.ts'
import { ANY_MODEL } from '../../../schema/constants.ts'
import type { UpstreamSection } from '../../../schema/index.ts'
import {
  COMMON,
  EXTRA_BODY,
  LIMITS,
  LIMITS_OF_VENDORS,
  OWNED,
  type ParameterKind,
} from '../../../wire/models/parameters.ts'
import { Suggestions } from '../../judgement/nearest.ts'
import { type Finding, type Path, refuse } from '../../judgement/problems.ts'
import { at, type Check, quoted } from '../contract.ts'
import { isObeyed } from './parameter-effects.ts'

/** Most bytes of extra_body, as JSON. */
const EXTRA_BYTES_MAX = 16_384
const EXTRA_MEMBERS_MAX = 64
const TEXT_MAX = 256
const LIST_MAX = 64
const OBJECT_BYTES_MAX = 16_384

const LIMIT_NAMES: readonly string[] = LIMITS
const HOWS = ['default', 'force'] as const
type Values = Readonly<Record<string, unknown>>

const parametersAreKnown: Check = ({ upstreams }, { suggestions }) =>
  upstreams.flatMap((upstream, index) =>
    HOWS.flatMap((how) => {
      const path = [...at('upstreams', index), 'parameters', how]
      return Object.entries(upstream.parameters?.[how] ?? {}).flatMap(([name, value]) =>
        judge(upstream, { name, value, field: [...path, name] }, suggestions),
      )
    }),
  )

interface WrittenParameter {
  readonly name: string
  readonly value: unknown
  readonly field: Path
}

function judge(
  upstream: UpstreamSection,
  { name, value, field }: WrittenParameter,
  suggestions: Suggestions,
): Finding[] {
  if (name === EXTRA_BODY) return judgeExtra(value, field, upstream)
  if (OWNED.has(name)) return [owned(field, name)]
  const known = kindsOf(upstream)
  const kind = known.get(name)
  if (kind !== undefined) return judgeValue(kind, value, field)
  const meant = suggestions.didYouMean(name, known.keys())
  const message = `${upstream.provider} has no parameter ${quoted(name)} that the gateway knows${meant}`
  const fix = `Use one of: ${[...known.keys()].join(', ')}. Write other members of its API below ${EXTRA_BODY}.`
  return [{ ...refuse(field, message, fix), atKey: true }]
}

/** Why the upstream cannot set the parameter; undefined if it can. */
export function faultOf(
  upstream: UpstreamSection,
  name: string,
  value: unknown,
): string | undefined {
  const [found] = judge(upstream, { name, value, field: [] }, new Suggestions())
  if (found !== undefined) return found.message
  const isCommon = Object.hasOwn(COMMON, name)
  return isCommon && !isObeyed(upstream, name, value) ? unheeded(upstream) : undefined
}

function unheeded({ provider, model }: UpstreamSection): string {
  const named = model === ANY_MODEL ? '' : ` for the model ${quoted(model)}`
  return `cannot take effect: ${provider} has no such parameter${named}`
}

function kindsOf({ provider }: UpstreamSection): ReadonlyMap<string, ParameterKind> {
  const { parameters = {} } = PROVIDER_FACTS[provider]
  return new Map(
    [...Object.entries(COMMON), ...Object.entries(parameters)].map(([name, { values }]) => [
      name,
      values,
    ]),
  )
}

function owned(path: Path, name: string): Finding {
  const message = `the gateway itself sets ${quoted(name)} from the request of the client`
  return { ...refuse(path, message, 'Remove it.'), atKey: true }
}

function judgeValue(kind: ParameterKind, value: unknown, path: Path): Finding[] {
  return isOf(kind, value) ? [] : [refuse(path, `must be ${wordsOf(kind)}`, 'Correct the value.')]
}

function isOf(kind: ParameterKind, value: unknown): boolean {
  switch (kind.kind) {
    case 'number':
    case 'integer':
      if (typeof value !== 'number' || (kind.kind === 'integer' && !Number.isInteger(value)))
        return false
      return value >= kind.least && value <= kind.most
    case 'boolean':
      return typeof value === 'boolean'
    case 'text':
      return isText(value)
    case 'texts':
      return isText(value) || isListOf(value, isText)
    case 'integers':
      return isListOf(value, Number.isInteger)
    case 'one of':
      return kind.values.some((one) => one === value)
    case 'object':
      return isRecord(value) && JSON.stringify(value).length <= OBJECT_BYTES_MAX
    default:
      return isListOf(value, isRecord) && JSON.stringify(value).length <= OBJECT_BYTES_MAX
  }
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && value.length <= TEXT_MAX
}

function isListOf(value: unknown, is: (one: unknown) => boolean): boolean {
  return Array.isArray(value) && value.length > 0 && value.length <= LIST_MAX && value.every(is)
}

function wordsOf(kind: ParameterKind): string {
  switch (kind.kind) {
    case 'number':
      return `a number from ${kind.least} to ${kind.most}`
    case 'integer':
      return `a whole number from ${kind.least} to ${kind.most}`
    case 'boolean':
      return 'true or false'
    case 'text':
      return `a text of at most ${TEXT_MAX} characters`
    case 'texts':
      return `a text of at most ${TEXT_MAX} characters, or a list of them`
    case 'integers':
      return 'a list of whole numbers'
    case 'one of':
      return `one of: ${kind.values.join(', ')}`
    case 'object':
      return `a map, of at most ${OBJECT_BYTES_MAX} bytes of JSON`
    default:
      return `a list of maps, of at most ${OBJECT_BYTES_MAX} bytes of JSON`
  }
}

/** Its members are the vendor's, so only those that the gateway owns are known. */
function judgeExtra(value: unknown, path: Path, upstream: UpstreamSection): Finding[] {
  if (!isRecord(value) || Object.keys(value).length === 0)
    return [refuse(path, "must be a map with members of the vendor's API", 'Correct the value.')]
  if (Object.keys(value).length > EXTRA_MEMBERS_MAX)
    return [refuse(path, `must have at most ${EXTRA_MEMBERS_MAX} members`, 'Remove some.')]
  if (JSON.stringify(value).length > EXTRA_BYTES_MAX)
    return [refuse(path, `must have at most ${EXTRA_BYTES_MAX} bytes of JSON`, 'Make it shorter.')]
  const known = kindsOf(upstream)
  return Object.entries(value).flatMap(([name, inner]) => {
    const field = [...path, name]
    if (OWNED.has(name)) return [owned(field, name)]
    if (LIMITS_OF_VENDORS.has(name)) return [limit(field)]
    if (known.has(name)) {
      const message = `${quoted(name)} is a parameter that the gateway knows`
      return [{ ...refuse(field, message, `Move it out of ${EXTRA_BODY}.`), atKey: true }]
    }
    const nested = Object.keys(isRecord(inner) ? inner : {})
    return nested.filter((one) => LIMITS_OF_VENDORS.has(one)).map((one) => limit([...field, one]))
  })
}

/** A limit that the gateway does not know would not be reserved. */
function limit(path: Path): Finding {
  const message = 'the gateway itself sets the limit of tokens and the number of answers'
  const fix = `Write max_tokens beside ${EXTRA_BODY}, or remove it.`
  return { ...refuse(path, message, fix), atKey: true }
}

const parametersAreOnce: Check = ({ upstreams }) =>
  upstreams.flatMap(({ parameters }, index) => {
    if (parameters === undefined) return []
    const path = [...at('upstreams', index), 'parameters']
    const { default: byDefault = {}, force = {} } = parameters
    const count = Object.keys(byDefault).length + Object.keys(force).length
    if (count === 0) return [refuse(path, 'sets nothing', 'Add default: or force:, or remove it.')]
    return [...twiceIn(parameters, path), ...idleIn(byDefault, force, [...path, 'default'])]
  })

function twiceIn(
  parameters: { readonly [how in (typeof HOWS)[number]]?: Values | undefined },
  path: Path,
): Finding[] {
  return HOWS.flatMap((how) => {
    const [first, second] = LIMIT_NAMES.filter((name) => Object.hasOwn(parameters[how] ?? {}, name))
    if (second === undefined) return []
    return [refuse([...path, how, second], `means the same as ${first}`, 'Write one of them.')]
  })
}

/** Defaults that no request gets, because the same parameter is forced. */
function idleIn(byDefault: Values, force: Values, path: Path): Finding[] {
  const isForced = (name: string) =>
    LIMIT_NAMES.includes(name)
      ? LIMIT_NAMES.some((one) => Object.hasOwn(force, one))
      : Object.hasOwn(force, name)
  const [one, other] = [recordOf(byDefault[EXTRA_BODY]), recordOf(force[EXTRA_BODY])]
  const idle = [
    ...Object.keys(byDefault).flatMap((name) =>
      name !== EXTRA_BODY && isForced(name) ? [[...path, name]] : [],
    ),
    ...Object.keys(one).flatMap((name) =>
      Object.hasOwn(other, name) && !isRecord(other[name]) ? [[...path, EXTRA_BODY, name]] : [],
    ),
  ]
  const message = 'cannot take effect: force sets it for every request'
  return idle.map((field) => refuse(field, message, 'Remove one of them.'))
}

/** A hint that the model does not support would be left out of every request. */
const parametersAreObeyed: Check = ({ upstreams }) =>
  upstreams.flatMap((upstream, index) =>
    HOWS.flatMap((how) => {
      const known = kindsOf(upstream)
      return Object.entries(upstream.parameters?.[how] ?? {}).flatMap(([name, value]) => {
        const kind = known.get(name)
        if (kind === undefined || !Object.hasOwn(COMMON, name) || !isOf(kind, value)) return []
        if (isObeyed(upstream, name, value)) return []
        const path = [...at('upstreams', index), 'parameters', how, name]
        const message = unheeded(upstream)
        return [{ ...refuse(path, message, 'Remove it.'), atKey: true }]
      })
    }),
  )

export const parameterChecks = [parametersAreKnown, parametersAreOnce, parametersAreObeyed]
