/** A batch of CloudEvents as JSON, for a webhook. */
import type { Page } from '../../telemetry/tracing/exporter.ts'
import { EVENT_TYPE, type UsageEvent } from './event.ts'

export const BATCH_TYPE = 'application/cloudevents-batch+json'

export class BatchPage implements Page<UsageEvent> {
  items = 0
  readonly #source: string
  #text = ''

  constructor(source: string) {
    this.#source = source
  }

  /** Names are ASCII, so characters are bytes. */
  get used(): number {
    return this.#text.length
  }

  add({ id, time, facts }: UsageEvent): void {
    this.items++
    const event = {
      specversion: '1.0',
      id,
      source: this.#source,
      type: EVENT_TYPE,
      subject: facts.tenant,
      time,
      datacontenttype: 'application/json',
      data: facts,
    }
    this.#text += `${this.#text === '' ? '[' : ','}${JSON.stringify(event)}`
  }

  finish(): Uint8Array {
    return Buffer.from(`${this.#text}]`)
  }

  clear(): void {
    this.items = 0
    this.#text = ''
  }
}
