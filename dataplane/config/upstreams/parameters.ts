/** The parameters that an upstream sets, by where they go: as a client would ask for them, or in the vendor's body. */
import { isRecord } from '../../json/values.ts'
import { PROVIDER_FACTS } from '../../providers/index.ts'
import type { UpstreamSection } from '../../schema/index.ts'
import { COMMON, EXTRA_BODY, LIMITS } from '../../wire/models/parameters.ts'

interface SetParameter {
  /** As configured. */
  readonly name: string
  readonly value: unknown
  /** Whether it replaces the client's. */
  readonly isForced: boolean
}

/** A parameter that the gateway asks for in the client's place. */
export interface AskedParameter extends SetParameter {
  readonly isOfChats: boolean
}

/** A member of the body that the upstream gets. */
export interface SentMember extends SetParameter {
  /** The object in the body that has it; absent: the body itself. */
  readonly below?: string | undefined
  readonly member: string
  /** Absent: every operation has it. */
  readonly operations?: readonly string[]
}

export interface UpstreamParameters {
  readonly asked: readonly AskedParameter[]
  readonly sent: readonly SentMember[]
  /** The limit of tokens of requests without one, and that of all requests. */
  readonly limit: { readonly default?: number | undefined; readonly force?: number | undefined }
}

const CHATS = ['chat']
const TEXTS = ['chat', 'completions']
const LIMIT_NAMES: readonly string[] = LIMITS

type Values = Readonly<Record<string, unknown>>

/** undefined if the upstream sets none. */
export function parametersOf({
  provider,
  parameters,
}: Pick<UpstreamSection, 'provider' | 'parameters'>): UpstreamParameters | undefined {
  const { default: byDefault = {}, force = {} } = parameters ?? {}
  if (Object.keys(byDefault).length + Object.keys(force).length === 0) return undefined
  const all = [...setIn(byDefault, false), ...setIn(force, true)]
  return {
    asked: all.flatMap((one) => askedOf(one)),
    sent: all.flatMap((one) => sentOf(one, provider)),
    limit: { default: limitIn(byDefault), force: limitIn(force) },
  }
}

/** The most tokens of an answer that the upstream is asked for; undefined: any number. */
export function limitAt(
  { parameters }: { readonly parameters: UpstreamParameters | undefined },
  asked: number | undefined,
): number | undefined {
  if (parameters === undefined) return asked
  const { limit } = parameters
  return limit.force ?? asked ?? limit.default
}

function setIn(values: Values, isForced: boolean): SetParameter[] {
  return Object.entries(values).map(([name, value]) => ({ name, value, isForced }))
}

function limitIn(values: Values): number | undefined {
  const limit = LIMIT_NAMES.map((name) => values[name]).find((value) => value !== undefined)
  return typeof limit === 'number' ? limit : undefined
}

function askedOf(one: SetParameter): AskedParameter[] {
  const common = Object.hasOwn(COMMON, one.name) ? COMMON[one.name] : undefined
  if (common === undefined || LIMIT_NAMES.includes(one.name)) return []
  return [{ ...one, isOfChats: common.isOfChats === true }]
}

function sentOf(one: SetParameter, provider: UpstreamSection['provider']): SentMember[] {
  const { name, value, isForced } = one
  if (name === EXTRA_BODY) {
    return Object.entries(isRecord(value) ? value : {}).map(([member, inner]) => ({
      name: `${EXTRA_BODY}.${member}`,
      value: inner,
      isForced,
      member,
    }))
  }
  const made = vendorMember(one, provider)
  return made === undefined ? [] : [made]
}

/** undefined if the provider's API has no such parameter. */
export function vendorMember(
  one: SetParameter,
  provider: UpstreamSection['provider'],
): SentMember | undefined {
  const { name } = one
  const known = PROVIDER_FACTS[provider].parameters ?? {}
  const vendor = Object.hasOwn(known, name) ? known[name] : undefined
  if (vendor === undefined) return undefined
  const { below, as: member = name, isOfChats } = vendor
  return { ...one, below, member, operations: isOfChats === true ? CHATS : TEXTS }
}
