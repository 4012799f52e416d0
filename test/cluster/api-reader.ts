/** Reads from the API server without starting a process for each request. */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'

/** The kubeconfig of a user with a certificate. */
export interface Access {
  readonly ca: Buffer
  readonly cert: Buffer
  readonly key: Buffer
}

/** Uses a separate connection, because tests stop servers and leave broken connections. */
export async function get(
  address: string,
  access: Access,
): Promise<{ status: number; text: string }> {
  const asked = request(address, { ...access, agent: false, timeout: 10_000 }).end()
  asked.on('timeout', () => asked.destroy(new Error(`no answer at ${address}`)))
  const [answer]: readonly IncomingMessage[] = await once(asked, 'response')
  if (answer === undefined) throw new Error('there is no answer')
  const pieces: string[] = await Array.fromAsync(answer.setEncoding('utf8'))
  return { status: answer.statusCode ?? 0, text: pieces.join('') }
}

/** The object as JSON; undefined if it does not exist. */
export async function readAt(address: string, access: Access): Promise<unknown> {
  const { status, text } = await get(address, access)
  if (status === 404) return undefined
  if (status !== 200) throw new Error(`${address} answers ${status}: ${text.slice(0, 500)}`)
  return JSON.parse(text)
}
