/** An event of usage as a log record of OTLP. */
import { TRACE_FIELDS } from '../../telemetry/trace/fields.ts'
import { attributeKey } from '../../telemetry/tracing/fields.ts'
import { NAMES } from '../../telemetry/tracing/names.ts'
import {
  type AttributeValue,
  type Key,
  keyOf,
  type Writer,
} from '../../telemetry/tracing/writer.ts'
import { EVENT_FIELDS, type UsageEvent } from './event.ts'

/** Fields of `LogRecord` as opentelemetry/proto/logs/v1 numbers them. */
const RECORD = 2
const TIME = 1
const SEVERITY = 2
const BODY = 5
const ATTRIBUTES = 6
const TRACE_ID = 9
const EVENT_NAME = 12
const BODY_STRING = 1

const INFO = 9
const NAME = 'gw.usage'

const FIELDS = EVENT_FIELDS.map((name) => [name, attributeKey(name, TRACE_FIELDS[name])] as const)
const EVENT_ID = keyOf('gw.event_id')
const END_USER = keyOf('gw.end_user')
const SEARCHES = keyOf('gw.searches')
const COST = keyOf('gw.cost_nano_usd')
const CACHE_GAIN = keyOf('gw.cache_gain_nano_usd')
const CACHE_SURCHARGE = keyOf('gw.cache_surcharge_nano_usd')
const TRACE_HEX = /^[0-9a-f]{32}$/
/** Names of tags come from the configuration: at most 8. */
const tagKeys = new Map<string, Key>()

/** Returns how many records it has written. */
export function writeRecord(out: Writer, { id, time, facts }: UsageEvent): number {
  const record = out.open(RECORD)
  out.time(TIME, Date.parse(time))
  out.varint(SEVERITY, INFO)
  const body = out.open(BODY)
  out.text(BODY_STRING, NAME)
  out.close(body)
  const add = (key: Key, value: AttributeValue | null) =>
    out.attribute(ATTRIBUTES, key, value ?? undefined)
  add(EVENT_ID, id)
  for (const [name, key] of FIELDS) add(key, facts[name])
  add(NAMES.attempt, facts.attempt)
  add(NAMES.tenant, facts.tenant)
  add(NAMES.upstream, facts.upstream)
  add(NAMES.provider, facts.provider)
  add(NAMES.requestModel, facts.model)
  add(NAMES.status, facts.status)
  add(NAMES.code, facts.code)
  add(NAMES.inputTokens, facts.input_tokens)
  add(NAMES.outputTokens, facts.output_tokens)
  add(NAMES.cacheRead, facts.cache_read_tokens)
  add(NAMES.cacheWrite, facts.cache_write_tokens)
  add(NAMES.reasoning, facts.reasoning_tokens)
  if (facts.searches > 0) add(SEARCHES, facts.searches)
  add(NAMES.estimated, facts.estimated)
  add(COST, facts.cost_nano_usd)
  if (facts.cache_read_tokens + facts.cache_write_tokens > 0) {
    add(CACHE_GAIN, facts.cache_gain_nano_usd)
    add(CACHE_SURCHARGE, facts.cache_surcharge_nano_usd)
  }
  add(END_USER, facts.end_user)
  for (const [name, value] of Object.entries(facts.tags)) add(tagKey(name), value)
  for (const [name, value] of Object.entries(facts.price ?? {}))
    add(priceKey(name), { decimal: value })
  add(NAMES.duration, facts.duration_ms)
  add(NAMES.firstToken, facts.ttft_ms)
  if (facts.trace_id !== null && TRACE_HEX.test(facts.trace_id)) out.hex(TRACE_ID, facts.trace_id)
  out.text(EVENT_NAME, NAME)
  out.close(record)
  return 1
}

function tagKey(name: string): Key {
  return keyFor(`gw.tag.${name}`)
}

function priceKey(name: string): Key {
  return keyFor(`gw.price.${name}`)
}

/** A name that is longer than the format of keys allows is cut. */
function keyFor(name: string): Key {
  const short = name.slice(0, 100)
  const known = tagKeys.get(short)
  if (known !== undefined) return known
  const made = keyOf(short)
  if (tagKeys.size < 100) tagKeys.set(short, made)
  return made
}
