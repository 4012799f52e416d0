/** A page of spans or log records, written directly into one message of OTLP. */
import type { Page } from './exporter.ts'
import { type AttributeValue, keyOf, Writer } from './writer.ts'

/** A page is sent at this size. */
export const PAGE_BYTES = 262_144
/** Largest trace, because its texts and events are bounded. */
const ITEM_BYTES_MAX = 131_072

/** Fields of an export request, of `ResourceSpans` and `ResourceLogs`, and what is below them: the same for both. */
const RESOURCE_ITEMS = 1
const RESOURCE = 1
const RESOURCE_ATTRIBUTES = 1
const SCOPE_ITEMS = 2
const SCOPE = 1
const SCOPE_NAME = 1
const SCOPE_VERSION = 2

/** The source of the items. */
export interface Origin {
  readonly resource: Readonly<Record<string, string>>
  readonly version: string
}

export class OtlpPage<Item> implements Page<Item> {
  items = 0
  readonly #writer = new Writer(PAGE_BYTES + ITEM_BYTES_MAX)
  /** Positions for the lengths of the messages around the items. */
  readonly #around: readonly number[]
  /** The start of the first item. */
  readonly #begins: number
  readonly #write: (writer: Writer, item: Item) => number

  /** `write` returns the number of spans or records that it wrote for the item. */
  constructor({ resource, version }: Origin, write: (writer: Writer, item: Item) => number) {
    const writer = this.#writer
    const whole = writer.open(RESOURCE_ITEMS)
    const about = writer.open(RESOURCE)
    for (const [name, value] of Object.entries<AttributeValue>(resource))
      writer.attribute(RESOURCE_ATTRIBUTES, keyOf(name), value)
    writer.close(about)
    const scoped = writer.open(SCOPE_ITEMS)
    const scope = writer.open(SCOPE)
    writer.text(SCOPE_NAME, 'gw')
    writer.text(SCOPE_VERSION, version)
    writer.close(scope)
    this.#around = [scoped, whole]
    this.#begins = writer.used
    this.#write = write
  }

  get used(): number {
    return this.#writer.used
  }

  add(item: Item): void {
    this.items += this.#write(this.#writer, item)
  }

  finish(): Uint8Array {
    for (const start of this.#around) this.#writer.close(start)
    return this.#writer.bytes.subarray(0, this.#writer.used)
  }

  clear(): void {
    this.#writer.used = this.#begins
    this.items = 0
  }
}
