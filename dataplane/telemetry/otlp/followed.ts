/** A thing that a configuration opens: kept while the next ones want the same, closed when one wants another or none. */
import type { Snapshot } from '../../config/snapshot.ts'

export class Followed {
  /** All settings that the open thing depends on. */
  #identity: string | undefined
  #close: () => void = () => {}

  /** `settings` are the thing's own; undefined wants none. `open` returns how to close it. */
  follow({ section, configuration }: Snapshot, settings: unknown, open: () => () => void): void {
    const { telemetry, http_proxy, no_proxy, tls } = section
    const { name, namespace } = configuration.metadata ?? {}
    const identity =
      settings === undefined
        ? undefined
        : JSON.stringify([settings, telemetry, http_proxy, no_proxy, tls, name, namespace])
    if (identity === this.#identity) return
    this.#identity = identity
    this.#close()
    this.#close = identity === undefined ? () => {} : open()
  }
}
