/** The commands of a connection. */
import { hash } from 'node:crypto'
import type { Socket } from 'node:net'
import { bulk, type Channels } from './channels.ts'
import type { LuaVm } from './vm.ts'

export interface Reply {
  readonly bytes: Buffer
  /** Whether the connection ends after it. */
  readonly isLast?: boolean
}

export interface CommandsOptions {
  readonly channels: Channels
  readonly wall: () => number
}

type Command = (words: readonly Buffer[], socket: Socket) => Reply

/** The commands that a listening connection may send. */
const LISTENING: ReadonlySet<string> = new Set(['subscribe', 'ping', 'quit'])

/** Characters of an unknown command in the answer. */
const SHOWN_MAX = 64

export class Commands {
  readonly #vm: LuaVm
  readonly #channels: Channels
  readonly #wall: () => number
  /** The time of the last script, so that scripts of one millisecond have different times. */
  #ms = 0
  #us = 0
  readonly #commands: Readonly<Record<string, Command>> = {
    evalsha: (words) => this.#run(words, true),
    eval: (words) => this.#run(words, false),
    subscribe: (words, socket) => this.#subscribe(words, socket),
    ping: ([, text], socket) => pong(text, this.#channels.countOf(socket) > 0),
    select: ([, index]) =>
      index?.toString() === '0' ? line('+OK') : line('-ERR DB index is out of range'),
    client: ([, action]) =>
      /^set(name|info)$/i.test(String(action))
        ? line('+OK')
        : line('-ERR unknown subcommand of CLIENT'),
    info: () => ({ bytes: Buffer.concat(bulk(this.#vm.call('info', [])[0] ?? Buffer.alloc(0))) }),
    quit: () => ({ ...line('+OK'), isLast: true }),
    hello: ([, version]) =>
      version === undefined || version.toString() === '2'
        ? line("-ERR unknown command 'hello', use RESP2 without it")
        : line('-NOPROTO unsupported protocol version'),
  }

  constructor(vm: LuaVm, { channels, wall }: CommandsOptions) {
    this.#vm = vm
    this.#channels = channels
    this.#wall = wall
  }

  answer(words: readonly Buffer[], socket: Socket): Reply {
    const name = words[0]?.subarray(0, SHOWN_MAX).toString('latin1').toLowerCase() ?? ''
    const command = Object.hasOwn(this.#commands, name) ? this.#commands[name] : undefined
    if (command === undefined) return line(`-ERR unknown command '${printable(name)}'`)
    if (this.#channels.countOf(socket) > 0 && !LISTENING.has(name))
      return line(`-ERR Can't execute '${name}': only SUBSCRIBE / PING / QUIT are allowed here`)
    return command(words, socket)
  }

  /** `EVALSHA sha keys KEY... ARG...`, and EVAL with the text. */
  #run([name, script, count, ...rest]: readonly Buffer[], isKnown: boolean): Reply {
    if (script === undefined || count === undefined)
      return line(`-ERR wrong number of arguments for '${String(name).toLowerCase()}' command`)
    const keys = String(count)
    if (!/^-?\d{1,15}$/.test(keys)) return line('-ERR value is not an integer or out of range')
    if (Number(keys) < 0) return line("-ERR Number of keys can't be negative")
    if (Number(keys) > rest.length)
      return line("-ERR Number of keys can't be greater than number of args")
    const sha = isKnown ? script.toString('latin1').toLowerCase() : hash('sha1', script)
    const text = isKnown ? '' : script
    this.#tick()
    try {
      const [reply = Buffer.alloc(0), ...published] = this.#vm.call('run', [
        ...[sha, text, Number(keys), this.#ms, this.#us],
        ...rest,
      ])
      this.#channels.send(published)
      return { bytes: reply }
    } catch (error) {
      // The machine has no memory for the call or for its reply.
      return line(`-ERR ${printable(String(error))}`)
    }
  }

  #tick(): void {
    const ms = this.#wall()
    this.#us = ms === this.#ms ? Math.min(999, this.#us + 1) : 0
    this.#ms = ms
  }

  #subscribe([, ...names]: readonly Buffer[], socket: Socket): Reply {
    if (names.length === 0) return line("-ERR wrong number of arguments for 'subscribe' command")
    const parts: Buffer[] = []
    for (const name of names) {
      if (!this.#channels.add(name.toString('latin1'), socket))
        return line('-ERR too many channels')
      parts.push(Buffer.from('*3\r\n$9\r\nsubscribe\r\n'), ...bulk(name))
      parts.push(Buffer.from(`:${this.#channels.countOf(socket)}\r\n`))
    }
    return { bytes: Buffer.concat(parts) }
  }
}

function pong(text: Buffer | undefined, isListening: boolean): Reply {
  if (isListening)
    return {
      bytes: Buffer.concat([Buffer.from('*2\r\n$4\r\npong\r\n'), ...bulk(text ?? Buffer.alloc(0))]),
    }
  return text === undefined ? line('+PONG') : { bytes: Buffer.concat(bulk(text)) }
}

function line(text: string): Reply {
  return { bytes: Buffer.from(`${text}\r\n`) }
}

function printable(text: string): string {
  return text.replaceAll(/[^ -~]/g, '?')
}
