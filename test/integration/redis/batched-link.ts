/**
 * A link for very many calls: all calls of a turn of the event loop are sent in one write, and only
 * their text is created for each. It has no deadline; an error of the server is an error of the
 * call.
 */
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import type { Link, Script } from '../../../dataplane/store/redis/link.ts'

export interface BatchedLink extends Link {
  /** Any command. */
  send(words: readonly (string | number)[]): Promise<unknown>
  close(): void
}

interface Waiting {
  readonly resolve: (reply: unknown) => void
  readonly reject: (error: Error) => void
}

export async function openBatchedLink(path: string): Promise<BatchedLink> {
  const socket = connect(path)
  await once(socket, 'connect')
  const waiting: Waiting[] = []
  const shas = new Map<Script, string>()
  let out = ''
  const flush = () => {
    socket.write(out)
    out = ''
  }
  const send = (words: readonly (string | number)[]) => {
    if (out === '') setImmediate(flush)
    out += encoded(words)
    return new Promise<unknown>((resolve, reject) => waiting.push({ resolve, reject }))
  }
  const replies = new Replies((reply) => {
    const one = waiting.shift()
    if (reply instanceof Error) one?.reject(reply)
    else one?.resolve(reply)
  })
  socket.setEncoding('latin1').on('data', (chunk: string) => replies.feed(chunk))
  return {
    send,
    close: () => socket.destroy(),
    async run(script, keys, args) {
      let sha = shas.get(script)
      if (sha === undefined) {
        sha = hash('sha1', script.lua)
        shas.set(script, sha)
        await send(['SCRIPT', 'LOAD', script.lua])
      }
      return send(['EVALSHA', sha, keys.length, ...keys, ...args])
    },
  }
}

function encoded(words: readonly (string | number)[]): string {
  let text = `*${words.length}\r\n`
  for (const word of words) {
    const value = String(word)
    text += `$${Buffer.byteLength(value)}\r\n${value}\r\n`
  }
  return text
}

/** Splits the stream into replies: lines, numbers, texts, and lists of them. */
class Replies {
  readonly #onReply: (reply: unknown) => void
  #text = ''
  /** Incomplete lists, the innermost last. */
  readonly #open: { readonly list: unknown[]; missing: number }[] = []

  constructor(onReply: (reply: unknown) => void) {
    this.#onReply = onReply
  }

  feed(chunk: string): void {
    this.#text += chunk
    let at = 0
    for (;;) {
      const end = this.#text.indexOf('\r\n', at)
      if (end === -1) break
      const line = this.#text.slice(at + 1, end)
      const kind = this.#text[at]
      let next = end + 2
      if (kind === '$' && line !== '-1') {
        next += Number(line) + 2
        if (this.#text.length < next) break
        this.#take(this.#text.slice(end + 2, next - 2))
      } else if (kind === '*') {
        this.#open.push({ list: [], missing: Number(line) })
      } else if (kind === ':') this.#take(Number(line))
      else this.#take(kind === '-' ? new Error(line) : kind === '$' ? null : line)
      at = next
    }
    this.#text = this.#text.slice(at)
  }

  #take(value: unknown): void {
    const inner = this.#open.at(-1)
    if (inner === undefined) {
      this.#onReply(value)
      return
    }
    inner.list.push(value)
    if (--inner.missing > 0) return
    this.#open.pop()
    this.#take(inner.list)
  }
}
