/** Clients that keep sending with the official SDK, and count who answers and what fails. */
import type OpenAI from 'openai'
import { until } from '../helpers/until.ts'

const SECONDS_MAX = 200

export class Load {
  readonly #answers = new Map<string, number>()
  readonly #failures: string[] = []
  readonly #loops: readonly Promise<void>[]
  #isOver = false

  constructor(
    clientOf: (key: string) => OpenAI,
    keys: readonly string[],
    models: readonly string[],
  ) {
    this.#loops = keys.flatMap((key) =>
      models.map((model) => this.#send(clientOf(key), { model, isStream: model === models[0] })),
    )
  }

  /** Until this many answers have this header. */
  async until(header: string, count: number): Promise<void> {
    const isEnough = () => (this.#answers.get(header) ?? 0) >= count || this.#failures.length > 0
    await until(`${count} answers with ${header}`, isEnough, SECONDS_MAX)
  }

  async end() {
    this.#isOver = true
    await Promise.all(this.#loops)
    return {
      failures: this.#failures,
      byLitellm: this.#answers.get('x-litellm-call-id') ?? 0,
      byGateway: this.#answers.get('x-gw-route') ?? 0,
    }
  }

  async #send(client: OpenAI, { model, isStream }: { model: string; isStream: boolean }) {
    const messages = [{ role: 'user' as const, content: 'Hi' }]
    while (!this.#isOver)
      try {
        const asked = client.chat.completions.create({ model, messages, stream: isStream })
        const { data, response } = await asked.withResponse()
        if ('choices' in data) this.#expect(data.choices[0]?.message.content)
        else {
          const chunks = await Array.fromAsync(data)
          this.#expect(chunks.at(-1)?.choices[0]?.finish_reason ?? 'stop')
        }
        for (const header of ['x-litellm-call-id', 'x-gw-route'])
          if (response.headers.has(header))
            this.#answers.set(header, (this.#answers.get(header) ?? 0) + 1)
      } catch (error) {
        this.#failures.push(String(error))
      }
  }

  #expect(text: unknown): void {
    if (text !== 'hello' && text !== 'stop') this.#failures.push(`answered ${String(text)}`)
  }
}
