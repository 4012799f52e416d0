/** Messages between the thread of the store and its creator. */

export interface ThreadOptions {
  readonly socket: string
  readonly stateDir?: string
}

export type Notice =
  | { readonly kind: 'ready' }
  | { readonly kind: 'refused'; readonly message: string; readonly isState: boolean }
  /** Why changes could not be written to `state_dir`; undefined when they are again. */
  | { readonly kind: 'written'; readonly failed: string | undefined }

export function noticeOf(error: unknown, isState: boolean): Notice {
  return {
    kind: 'refused',
    message: error instanceof Error ? error.message : String(error),
    isState,
  }
}
