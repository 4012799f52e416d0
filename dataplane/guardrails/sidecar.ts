/** The way to one sidecar: bounded in time and size, and refused at once while it keeps failing. */
import type { Dispatcher } from 'undici'
import type { Clock } from '../base/clock.ts'
import type { Section } from '../config/schema/index.ts'
import { parsed } from '../json/values.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { openPool } from '../upstream/connection/client.ts'
import { readBounded } from '../upstream/target/bounded-body.ts'
import { Breaker } from '../upstream/target/breaker.ts'

export interface World {
  readonly clock: Clock
  readonly metrics: Pick<Metrics, 'auxiliaryRequests' | 'auxiliarySeconds'>
}

interface Place {
  readonly name: string
  readonly endpoint: string
  readonly timeoutMs: number
  readonly headers: Readonly<Record<string, string>>
}

const BREAKER = { failureThreshold: 5, openDurationMs: 5_000, halfOpenProbes: 1 }
const CONNECTIONS = 64
const ANSWER_BYTES_MAX = 33_554_432
const KIND = 'guardrail'

/** Why it gave no verdict; `message` is for the log and the trace. */
export class SidecarError extends Error {
  readonly outcome: 'timeout' | 'error' | 'open'

  constructor(outcome: SidecarError['outcome'], message: string) {
    super(message)
    this.outcome = outcome
  }
}

export class Sidecar {
  readonly #place: Place
  readonly #world: World
  readonly #pool: Dispatcher
  readonly #origin: string
  readonly #base: string
  readonly #breaker = new Breaker(BREAKER)

  constructor(place: Place, section: Section, world: World) {
    const { origin, pathname } = new URL(place.endpoint)
    this.#place = place
    this.#world = world
    this.#origin = origin
    this.#base = pathname.replace(/\/+$/, '')
    const destination = {
      origin,
      timeoutMs: place.timeoutMs,
      section: { connect_timeout_seconds: place.timeoutMs / 1000 },
    }
    this.#pool = openPool(destination, section, CONNECTIONS)
  }

  /** The answer as `read` reads it; undefined where it makes no sense. Throws SidecarError. */
  async ask<T>(path: string, body: object, read: (answer: unknown) => T | undefined): Promise<T> {
    const { clock } = this.#world
    const permit = this.#breaker.permit(clock.now())
    if (permit === undefined)
      throw this.#failed('open', 'it keeps failing, and is tried again soon')
    const began = clock.now()
    try {
      const answer = read(await this.#post(path, JSON.stringify(body)))
      if (answer === undefined) throw new SidecarError('error', 'its answer makes no sense')
      this.#breaker.success(permit, clock.now())
      return answer
    } catch (error) {
      this.#breaker.failure(permit, clock.now())
      if (error instanceof SidecarError) throw this.#failed(error.outcome, error.message)
      const isLate = (error as Error).name === 'TimeoutError'
      const ms = this.#place.timeoutMs
      if (isLate) throw this.#failed('timeout', `it did not answer within ${ms} ms`)
      throw this.#failed('error', (error as Error).message)
    } finally {
      const { metrics } = this.#world
      metrics.auxiliarySeconds.at(KIND, this.#place.name).observe((clock.now() - began) / 1000)
    }
  }

  count(outcome: string): void {
    this.#world.metrics.auxiliaryRequests.at(KIND, this.#place.name, outcome).value++
  }

  /** Questions that are under way still get their answers. */
  close(): void {
    void this.#pool.close()
  }

  async #post(path: string, body: string): Promise<unknown> {
    const { headers, timeoutMs } = this.#place
    const signal = AbortSignal.timeout(timeoutMs)
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
      throw new SidecarError('error', `it answered with ${statusCode}`)
    return parsed(bytes.toString())
  }

  #failed(outcome: SidecarError['outcome'], message: string): SidecarError {
    this.count(outcome)
    return new SidecarError(outcome, message)
  }
}
