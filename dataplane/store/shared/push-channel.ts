/** The channel on which the store says at once that a counter is wanted; kept open beside the connection for scripts. */
import { type ListenerOptions, openListener, type RedisClient } from '../redis/redis-client.ts'
import { wantedChannel } from '../roots.ts'

export interface PushChannelOptions extends Pick<ListenerOptions, 'place' | 'secureContext'> {
  readonly keyPrefix: string
  /** Called with the key of the state of an account. */
  readonly onWanted: (stateKey: string) => void
}

const CONNECT_MS = 1_000

/** Seconds between two tries. */
const TRIES_EVERY = 10

export class PushChannel {
  readonly #options: PushChannelOptions
  #missed = 0
  #listener: Pick<RedisClient, 'isReady' | 'close'> | undefined

  constructor(options: PushChannelOptions) {
    this.#options = options
  }

  get isOpen(): boolean {
    return this.#listener?.isReady ?? false
  }

  /** Opens it again if it is not open; called once a second while the store answers. A user may lack the permission for good. */
  keep(): void {
    if (this.isOpen) this.#missed = 0
    else if (this.#missed++ % TRIES_EVERY === 0) this.reopen()
  }

  /** The store may be another server now, although the old connection has not ended. */
  reopen(): void {
    const { place, secureContext, keyPrefix, onWanted } = this.#options
    this.close()
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
