/**
 * A guardrail sidecar on a real socket: it blocks and masks words, in both protocols, or misbehaves as the test sets.
 */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

// biome-ignore lint/suspicious/noExplicitAny: it reads what it is sent.
type Body = any

export const FORBIDDEN = 'forbidden'
const SECRET = /secret-\d+/g

export interface SidecarProcess {
  readonly url: string
  readonly asked: { readonly path: string; readonly body: Body; readonly headers: object }[]
  /** Answers instead of judging. */
  instead: ((outgoing: ServerResponse) => void) | undefined
  close(): Promise<void>
}

export async function startSidecar(): Promise<SidecarProcess> {
  const server = createServer(async (incoming, outgoing) => {
    const body = JSON.parse(Buffer.concat(await Array.fromAsync(incoming)).toString())
    const path = incoming.url ?? ''
    sidecar.asked.push({ path, body, headers: incoming.headers })
    if (sidecar.instead !== undefined) return sidecar.instead(outgoing)
    outgoing.writeHead(200, { 'content-type': 'application/json' })
    outgoing.end(JSON.stringify(path.startsWith('/beta/') ? litellm(body) : webhook(path, body)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const sidecar = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: [] as SidecarProcess['asked'],
    instead: undefined as SidecarProcess['instead'],
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
  return sidecar
}

function webhook(path: string, { body }: Body): Body {
  const isRequest = path === '/request'
  const messages: { role: string; content: string }[] = isRequest
    ? body.messages
    : body.choices.map((choice: Body) => choice.message)
  if (messages.some(({ content }) => content.includes(FORBIDDEN)))
    return { action: { body: 'Not here.', status_code: 403, reason: 'word list' } }
  const masked = messages.map((one) => ({ ...one, content: mask(one.content) }))
  if (masked.every(({ content }, at) => content === messages[at]?.content)) return { action: {} }
  const shown = isRequest
    ? { messages: masked }
    : { choices: masked.map((message) => ({ message })) }
  return { action: { body: shown, reason: 'masked' } }
}

function litellm({ texts }: { texts: string[] }): Body {
  if (texts.some((text) => text.includes(FORBIDDEN)))
    return { action: 'BLOCKED', blocked_reason: 'Not here.' }
  const masked = texts.map(mask)
  if (masked.join() === texts.join()) return { action: 'NONE' }
  return { action: 'GUARDRAIL_INTERVENED', texts: masked }
}

function mask(text: string): string {
  return text.replaceAll(SECRET, '[hidden]')
}
