/**
 * Converts a batch of OTLP from protobuf to JSON, so that only users of JSON pay for it. Ids are hex and 64-bit numbers
 * are strings, as the specification of OTLP requires.
 */

/** How a field is shown; a shape is a message. */
type WireKind = 'text' | 'hex' | 'int' | 'long' | 'bool' | 'double' | 'longs' | 'doubles' | Shape
type Field = readonly [name: string, kind: WireKind, many?: 'many']
interface Shape {
  readonly [field: number]: Field
}

const TEXT: Field = ['stringValue', 'text']
const ANY: Shape = {
  1: TEXT,
  2: ['boolValue', 'bool'],
  3: ['intValue', 'long'],
  4: ['doubleValue', 'double'],
  5: ['arrayValue', { 1: ['values', { 1: TEXT }, 'many'] }],
}
const PAIR: Shape = { 1: ['key', 'text'], 2: ['value', ANY] }
const ATTRIBUTES: Field = ['attributes', PAIR, 'many']

const SPAN: Shape = {
  1: ['traceId', 'hex'],
  2: ['spanId', 'hex'],
  3: ['traceState', 'text'],
  4: ['parentSpanId', 'hex'],
  5: ['name', 'text'],
  6: ['kind', 'int'],
  7: ['startTimeUnixNano', 'long'],
  8: ['endTimeUnixNano', 'long'],
  9: ATTRIBUTES,
  11: ['events', { 1: ['timeUnixNano', 'long'], 2: ['name', 'text'], 3: ATTRIBUTES }, 'many'],
  15: ['status', { 3: ['code', 'int'] }],
  16: ['flags', 'int'],
}

const RECORD: Shape = {
  1: ['timeUnixNano', 'long'],
  2: ['severityNumber', 'int'],
  3: ['severityText', 'text'],
  5: ['body', ANY],
  6: ATTRIBUTES,
  8: ['flags', 'int'],
  9: ['traceId', 'hex'],
  10: ['spanId', 'hex'],
  12: ['eventName', 'text'],
}

const NUMBER: Shape = {
  2: ['startTimeUnixNano', 'long'],
  3: ['timeUnixNano', 'long'],
  4: ['asDouble', 'double'],
  7: ATTRIBUTES,
}
const DISTRIBUTION: Shape = {
  2: ['startTimeUnixNano', 'long'],
  3: ['timeUnixNano', 'long'],
  4: ['count', 'long'],
  5: ['sum', 'double'],
  6: ['bucketCounts', 'longs'],
  7: ['explicitBounds', 'doubles'],
  8: [
    'exemplars',
    { 2: ['timeUnixNano', 'long'], 3: ['asDouble', 'double'], 5: ['traceId', 'hex'] },
    'many',
  ],
  9: ATTRIBUTES,
}
const POINTS = (point: Shape): Shape => ({
  1: ['dataPoints', point, 'many'],
  2: ['aggregationTemporality', 'int'],
  3: ['isMonotonic', 'bool'],
})
const METRIC: Shape = {
  1: ['name', 'text'],
  2: ['description', 'text'],
  3: ['unit', 'text'],
  5: ['gauge', POINTS(NUMBER)],
  7: ['sum', POINTS(NUMBER)],
  9: ['histogram', POINTS(DISTRIBUTION)],
}

const NAMES = {
  traces: ['resourceSpans', 'scopeSpans', 'spans', SPAN],
  metrics: ['resourceMetrics', 'scopeMetrics', 'metrics', METRIC],
  logs: ['resourceLogs', 'scopeLogs', 'logRecords', RECORD],
} as const

const SCOPE: Shape = { 1: ['name', 'text'], 2: ['version', 'text'] }

/** `batch` was written by this process, so it has only the fields above. */
export function jsonOf(batch: Uint8Array, signal: keyof typeof NAMES): string {
  const [resources, scopes, items, item] = NAMES[signal]
  const scoped: Shape = { 1: ['scope', SCOPE], 2: [items, item, 'many'] }
  const whole: Shape = { 1: ['resource', { 1: ATTRIBUTES }], 2: [scopes, scoped, 'many'] }
  return JSON.stringify(read(Buffer.from(batch), { 1: [resources, whole, 'many'] }))
}

type Message = Record<string, unknown>

function read(bytes: Buffer, shape: Shape): Message {
  const message: Message = {}
  const source = new Source(bytes)
  while (!source.isAtEnd) {
    const tag = source.varint()
    const raw = source.value(tag & 7)
    const field = shape[tag >> 3]
    if (field === undefined) continue
    const [name, kind, many] = field
    const value = shown(raw, kind)
    if (many === undefined) message[name] = value
    else if (Array.isArray(message[name])) message[name].push(value)
    else message[name] = [value]
  }
  return message
}

function shown(raw: number | Buffer, kind: WireKind): unknown {
  if (typeof kind === 'object') return read(raw as Buffer, kind)
  if (typeof raw === 'number') {
    if (kind === 'bool') return raw === 1
    return kind === 'long' ? String(raw) : raw
  }
  if (kind === 'text') return raw.toString()
  if (kind === 'hex') return raw.toString('hex')
  if (kind === 'double') return raw.readDoubleLE()
  if (kind === 'long') return String(raw.readBigUInt64LE())
  if (kind === 'int') return raw.readUInt32LE()
  const eights = Array.from({ length: raw.length / 8 }, (_, index) => index * 8)
  return kind === 'longs'
    ? eights.map((at) => String(raw.readBigUInt64LE(at)))
    : eights.map((at) => raw.readDoubleLE(at))
}

class Source {
  #at = 0
  readonly #bytes: Buffer

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length
  }

  varint(): number {
    let value = 0
    for (let factor = 1; ; factor *= 128) {
      const byte = this.#bytes.readUInt8(this.#at++)
      value += (byte & 0x7f) * factor
      if (byte < 128) return value
    }
  }

  value(wire: number): number | Buffer {
    if (wire === 0) return this.varint()
    const length = wire === 1 ? 8 : wire === 5 ? 4 : this.varint()
    const start = this.#at
    this.#at += length
    return this.#bytes.subarray(start, this.#at)
  }
}
