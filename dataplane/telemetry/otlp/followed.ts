/** A resource that a configuration opens: kept while later configurations need the same one, otherwise closed. */
import type { Snapshot } from '../../config/snapshot.ts'

export class Followed {
  /** All settings on which the open resource depends. */
  #identity: string | undefined
  #close: () => void = () => {}

  /** `settings`: those of the resource; undefined: none is needed. `open` returns a function that closes it. */
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
