/** Requests at a fixed rate to one gateway, each of another session: how many failed, and the 99th percentile. */
import { Agent, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { Front } from '../helpers/fake-upstream.ts'

export interface LoadResult {
  readonly count: number
  readonly failed: number
  /** Milliseconds. */
  readonly p99: number
}

export class PacedLoad {
  readonly #url: URL
  readonly #key: string
  readonly #rate: number
  readonly #agent = new Agent({ keepAlive: true })
  #sessions = 0

  constructor(front: Front, rate: number) {
    this.#url = new URL('/v1/chat/completions', front.process.url)
    this.#key = front.key
    this.#rate = rate
  }

  async run(route: string, seconds: number): Promise<LoadResult> {
    const endAt = performance.now() + seconds * 1000
    return await this.runUntil(route, async () => performance.now() >= endAt)
  }

  async runUntil(route: string, isOver: () => Promise<boolean>): Promise<LoadResult> {
    const startedAt = performance.now()
    const times: number[] = []
    const running: Promise<void>[] = []
    let failed = 0
    let lookedAt = startedAt
    for (;;) {
      const now = performance.now()
      const due = Math.floor(((now - startedAt) / 1000) * this.#rate)
      while (running.length < due) {
        const sentAt = performance.now()
        const ended = this.#send(route).then((status) => {
          if (status === 200) times.push(performance.now() - sentAt)
          else failed++
        })
        running.push(ended)
      }
      if (now - lookedAt > 200) {
        lookedAt = now
        if (await isOver()) break
      }
      await delay(2)
    }
    await Promise.all(running)
    const sorted = times.toSorted((one, other) => one - other)
    const p99 = sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN
    return { count: running.length, failed, p99 }
  }

  #send(route: string): Promise<number> {
    return new Promise((resolve) => {
      const headers = {
        'content-type': 'application/json',
        authorization: `Bearer ${this.#key}`,
        'x-session-id': `s-${this.#sessions++}`,
      }
      const sent = request(this.#url, { method: 'POST', agent: this.#agent, headers })
      sent.on('response', (response) => {
        response.resume().on('close', () => resolve(response.statusCode ?? 0))
      })
      sent.on('error', () => resolve(0))
      sent.end(JSON.stringify({ model: route, messages: [{ role: 'user', content: 'hi' }] }))
    })
  }
}
