/** The channel on which the store says at once that a counter is wanted; kept open beside the connection for scripts. */
import { type ListenerOptions, openListener, type RedisListener } from '../redis/redis-client.ts'
import { wantedChannel } from '../roots.ts'

export interface PushChannelOptions extends Pick<ListenerOptions, 'place' | 'secureContext'> {
  readonly keyPrefix: string
  /** Called with the key of the state of an account. */
  readonly onWanted: (stateKey: string) => void
}

const CONNECT_MS = 1_000

/** Seconds between two tries: a connection takes a moment, and a user may lack the permission for good. */
const CONNECTED_IN = 3
const REFUSED_FOR = 10

export class PushChannel {
  readonly #options: PushChannelOptions
  #missed = 0
  #listener: RedisListener | undefined

  constructor(options: PushChannelOptions) {
    this.#options = options
  }

  get isOpen(): boolean {
    return this.#listener?.isReady ?? false
  }

  /** Opens it again if it does not open; called once a second while the store answers. */
  keep(): void {
    this.#missed = this.isOpen ? 0 : this.#missed + 1
    const most = this.#listener?.isRefused ? REFUSED_FOR : CONNECTED_IN
    if (this.#missed >= most || (this.#missed > 0 && this.#listener === undefined)) this.reopen()
  }

  /** The store may be another server now, although the old connection has not ended. */
  reopen(): void {
    const { place, secureContext, keyPrefix, onWanted } = this.#options
    this.close()
    this.#missed = 0
    try {
      this.#listener = openListener({
        ...{ place, secureContext, connectMs: CONNECT_MS },
        channel: wantedChannel(keyPrefix),
        onMessage: onWanted,
        onEnd: () => undefined,
      })
    } catch {
      // Unreadable TLS files may be readable the next time.
      this.#listener = undefined
    }
  }

  close(): void {
    this.#listener?.close()
    this.#listener = undefined
  }
}
