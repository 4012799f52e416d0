/** Reads exported spans with a table of field numbers from opentelemetry/proto. */

type Value = string | number | boolean | readonly string[]

export interface ReadEvent {
  readonly name: string
  readonly time: bigint
  readonly attributes: Readonly<Record<string, Value>>
}

export interface ReadSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parent: string | undefined
  readonly state: string | undefined
  readonly name: string
  readonly kind: number
  readonly start: bigint
  readonly end: bigint
  readonly flags: number
  /** 2 is an error. */
  readonly status: number
  readonly attributes: Readonly<Record<string, Value>>
  readonly events: readonly ReadEvent[]
}

export interface ReadBatch {
  readonly resource: Readonly<Record<string, Value>>
  readonly scope: readonly string[]
  readonly spans: readonly ReadSpan[]
}

type Field = readonly [number: number, value: bigint | Buffer]

/** A posted batch: one `ResourceSpans` with one `ScopeSpans`. */
export function readBatch(bytes: Buffer): ReadBatch {
  const whole = message(fieldsOf(bytes), 1)
  const scoped = message(whole, 2)
  return {
    resource: attributesIn(message(whole, 1), 1),
    scope: message(scoped, 1).map(([, value]) => String(value)),
    spans: all(scoped, 2).map((span) => readSpan(fieldsOf(span))),
  }
}

export interface ReadRecord {
  readonly time: bigint
  readonly body: Value
  readonly name: string
  readonly traceId: string | undefined
  readonly attributes: Readonly<Record<string, Value>>
}

/** Log records as they are posted, the same way around. */
export function readRecords(bytes: Buffer): {
  readonly resource: ReadBatch['resource']
  readonly records: readonly ReadRecord[]
} {
  const whole = message(fieldsOf(bytes), 1)
  return {
    resource: attributesIn(message(whole, 1), 1),
    records: all(message(whole, 2), 2).map((record) => {
      const fields = fieldsOf(record)
      return {
        time: numberIn(fields, 1),
        body: readValue(message(fields, 5)),
        attributes: attributesIn(fields, 6),
        traceId: bytesIn(fields, 9)?.toString('hex'),
        name: bytesIn(fields, 12)?.toString() ?? '',
      }
    }),
  }
}

function readSpan(fields: readonly Field[]): ReadSpan {
  return {
    traceId: bytesIn(fields, 1)?.toString('hex') ?? '',
    spanId: bytesIn(fields, 2)?.toString('hex') ?? '',
    state: bytesIn(fields, 3)?.toString(),
    parent: bytesIn(fields, 4)?.toString('hex'),
    name: bytesIn(fields, 5)?.toString() ?? '',
    kind: Number(numberIn(fields, 6)),
    start: numberIn(fields, 7),
    end: numberIn(fields, 8),
    attributes: attributesIn(fields, 9),
    events: all(fields, 11).map((event) => {
      const parts = fieldsOf(event)
      const name = bytesIn(parts, 2)?.toString() ?? ''
      return { name, time: numberIn(parts, 1), attributes: attributesIn(parts, 3) }
    }),
    status: Number(numberIn(message(fields, 15), 3)),
    flags: Number(numberIn(fields, 16)),
  }
}

function attributesIn(fields: readonly Field[], field: number): Record<string, Value> {
  return Object.fromEntries(
    all(fields, field).map((one) => {
      const pair = fieldsOf(one)
      return [bytesIn(pair, 1)?.toString() ?? '', readValue(message(pair, 2))]
    }),
  )
}

function readValue([field]: readonly Field[]): Value {
  const [number = 0, value = 0n] = field ?? []
  if (typeof value !== 'bigint') return number === 5 ? textsIn(value) : value.toString()
  if (number === 2) return value === 1n
  if (number === 3) return Number(value)
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(value)
  return bytes.readDoubleLE()
}

function textsIn(list: Buffer): string[] {
  return all(fieldsOf(list), 1).map((one) => bytesIn(fieldsOf(one), 1)?.toString() ?? '')
}

/** Throws if a length or a tag leads beyond the end. */
function fieldsOf(bytes: Buffer): Field[] {
  const fields: Field[] = []
  let at = 0
  const varint = () => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes.readUInt8(at++)
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 128) return value
    }
  }
  while (at < bytes.length) {
    const tag = Number(varint())
    const [number, kind] = [tag >> 3, tag & 7]
    if (kind === 0) fields.push([number, varint()])
    else if (kind === 1) {
      fields.push([number, bytes.readBigUInt64LE(at)])
      at += 8
    } else if (kind === 5) {
      fields.push([number, BigInt(bytes.readUInt32LE(at))])
      at += 4
    } else {
      const length = Number(varint())
      if (at + length > bytes.length) throw new Error(`Field ${number} is cut.`)
      fields.push([number, bytes.subarray(at, at + length)])
      at += length
    }
  }
  return fields
}

function all(fields: readonly Field[], field: number): Buffer[] {
  return fields.flatMap(([number, value]) =>
    number === field && value instanceof Buffer ? [value] : [],
  )
}

function bytesIn(fields: readonly Field[], field: number): Buffer | undefined {
  return all(fields, field)[0]
}

function numberIn(fields: readonly Field[], field: number): bigint {
  const value = fields.find(([number]) => number === field)?.[1]
  return typeof value === 'bigint' ? value : 0n
}

function message(fields: readonly Field[], field: number): Field[] {
  const bytes = bytesIn(fields, field)
  return bytes === undefined ? [] : fieldsOf(bytes)
}
