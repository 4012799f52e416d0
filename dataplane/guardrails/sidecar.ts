/** The connection to one sidecar. */
import type { Dispatcher } from 'undici'
import { Auxiliary, AuxiliaryError, type AuxiliaryWorld } from '../auxiliaries/auxiliary.ts'
import { ANSWER_BYTES_MAX } from '../base/kept-text.ts'
import { readBounded } from '../connection/bounded-body.ts'
import { openPool } from '../connection/client.ts'
import { parsed } from '../json/values.ts'
import type { Section } from '../schema/index.ts'
import { writtenJson } from '../translation/written.ts'

interface SidecarAddress {
  readonly name: string
  readonly endpoint: string
  readonly timeoutMs: number
  readonly headers: Readonly<Record<string, string>>
}

const CONNECTIONS = 64

export class Sidecar {
  readonly #place: SidecarAddress
  readonly auxiliary: Auxiliary
  readonly #pool: Dispatcher
  readonly #origin: string
  readonly #base: string

  constructor(place: SidecarAddress, section: Section, world: AuxiliaryWorld) {
    const { origin, pathname } = new URL(place.endpoint)
    this.#place = place
    this.auxiliary = new Auxiliary({ kind: 'guardrail', name: place.name }, world)
    this.#origin = origin
    this.#base = pathname.replace(/\/+$/, '')
    const destination = {
      origin,
      timeoutMs: place.timeoutMs,
      section: { connect_timeout_seconds: place.timeoutMs / 1000 },
    }
    this.#pool = openPool(destination, section, CONNECTIONS)
  }

  /** The answer as `read` returns it; `length`: about that of the request. Throws AuxiliaryError. */
  async ask<T>(
    path: string,
    { body, length }: { readonly body: object; readonly length: number },
    read: (answer: unknown) => T | undefined,
    { msMax, leaving }: { readonly msMax: number; readonly leaving: AbortSignal | undefined },
  ): Promise<T> {
    const timeoutMs = Math.min(this.#place.timeoutMs, msMax)
    const written = await writtenJson(body, length)
    const question = async (signal: AbortSignal) => {
      const answer = read(await this.#post(path, written, signal))
      if (answer === undefined) throw new AuxiliaryError('error', 'its answer is not valid')
      return answer
    }
    return await this.auxiliary.ask(question, { timeoutMs, signal: leaving })
  }

  count(outcome: string): void {
    this.auxiliary.count(outcome)
  }

  /** Running questions still get their answers. */
  close(): void {
    void this.#pool.close()
  }

  async #post(path: string, body: string | Buffer, signal: AbortSignal): Promise<unknown> {
    const { headers } = this.#place
    const answer = await this.#pool.request({
      origin: this.#origin,
      path: this.#base + path,
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
      body,
      signal,
    })
    const bytes = await readBounded(answer.body, ANSWER_BYTES_MAX, 'its answer is too long')
    const { statusCode } = answer
    if (statusCode < 200 || statusCode > 299)
      throw new AuxiliaryError('error', `it answered with ${statusCode}`)
    return parsed(bytes.toString())
  }
}
