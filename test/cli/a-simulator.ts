/** A separate simulator for a test, with the official SDK and a plain client to talk to it. */
import type { TestContext } from 'node:test'
import OpenAI from 'openai'
import { type SimulatorOptions, startSimulator } from '../../cli/simulator/simulator.ts'

export const hello = {
  model: 'any',
  messages: [{ role: 'user' as const, content: 'Good  morning' }],
}

export async function aSimulator(t: TestContext, options: SimulatorOptions = {}) {
  const simulator = await startSimulator(options)
  t.after(() => simulator.stop())
  const apiKey = options.apiKey ?? 'none'
  const client = new OpenAI({ baseURL: `${simulator.url}/v1`, apiKey, maxRetries: 0 })
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    fetch(`${simulator.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  return { simulator, client, post }
}
