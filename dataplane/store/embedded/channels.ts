/** The connections that listen to a channel, and the messages that scripts publish. */
import type { Socket } from 'node:net'
import type { LuaVm } from './vm.ts'

/** A listener that has not read this much is closed. */
const UNREAD_MAX = 8 * 1024 * 1024
/** Channels of one connection. */
const CHANNELS_MAX = 100

export class Channels {
  readonly #vm: LuaVm
  readonly #listeners = new Map<string, Set<Socket>>()
  readonly #channels = new WeakMap<Socket, Set<string>>()

  constructor(vm: LuaVm) {
    this.#vm = vm
  }

  countOf(socket: Socket): number {
    return this.#channels.get(socket)?.size ?? 0
  }

  /** Returns whether there is room for it. */
  add(name: string, socket: Socket): boolean {
    const own = this.#channels.get(socket) ?? new Set()
    if (own.size >= CHANNELS_MAX && !own.has(name)) return false
    this.#channels.set(socket, own.add(name))
    const listeners = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, listeners.add(socket))
    this.#tell(name, listeners.size)
    return true
  }

  forget(socket: Socket): void {
    for (const name of this.#channels.get(socket) ?? []) {
      const listeners = this.#listeners.get(name)
      listeners?.delete(socket)
      if (listeners?.size === 0) this.#listeners.delete(name)
      this.#tell(name, listeners?.size ?? 0)
    }
    this.#channels.delete(socket)
  }

  /** Channel and message in turn. */
  send(published: readonly Buffer[]): void {
    for (let at = 0; at + 1 < published.length; at += 2) {
      const [channel = Buffer.alloc(0), text = channel] = published.slice(at, at + 2)
      const message = Buffer.concat([
        Buffer.from('*3\r\n$7\r\nmessage\r\n'),
        ...bulk(channel),
        ...bulk(text),
      ])
      for (const socket of this.#listeners.get(channel.toString('latin1')) ?? []) {
        if (socket.writableLength > UNREAD_MAX) socket.destroy()
        else socket.write(message)
      }
    }
  }

  /** A script that publishes is answered how many listen. */
  #tell(name: string, count: number): void {
    this.#vm.call('listen', [Buffer.from(name, 'latin1'), String(count)])
  }
}

export function bulk(text: Buffer): Buffer[] {
  return [Buffer.from(`$${text.length}\r\n`), text, Buffer.from('\r\n')]
}
