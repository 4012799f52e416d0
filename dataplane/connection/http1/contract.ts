/** A pool of connections to one upstream: the requests it takes, and the handler of each answer. */
import type { IncomingHttpHeaders } from 'node:http'

/** A request with a whole body. */
export interface PoolRequest {
  readonly path: string
  /** Names and values, alternating; the same array as before if nothing has changed. */
  readonly headers: readonly string[]
  readonly requestId: string
  /** Headers of this request alone, names and values alternating. */
  readonly ownHeaders?: readonly string[]
  readonly body: Buffer
  /** Further bytes of the body, which are not copied. */
  readonly rest?: readonly Buffer[] | undefined
}

export interface PoolController {
  /** Ends the exchange and its connection. */
  abort(reason: Error): void
  pause(): void
  resume(): void
}

/** `onResponseEnd` or `onResponseError` is called once, and last. */
export interface PoolHandler {
  /** Whether the answer is no longer needed; a request that waits for a connection is dropped then. */
  readonly isOver: boolean
  /** Whether content of the answer has arrived, so that later events of one read may be passed on together. */
  readonly hasBegun?: boolean
  /** The request has a connection and is about to be written. */
  onRequestStart(controller: PoolController): void
  /** Interim answers too. */
  onResponseStart(controller: PoolController, status: number, headers: IncomingHttpHeaders): void
  onResponseData(controller: PoolController, chunk: Buffer): void
  onResponseEnd(): void
  onResponseError(controller: PoolController | undefined, error: Error): void
}

export interface RequestPool {
  dispatch(request: PoolRequest, handler: PoolHandler): unknown
  /** Lets dispatched requests end, then closes all connections. */
  close(): Promise<void>
  destroy(): Promise<void>
}
