/** Data for a collector that the end of the process must flush. */
export interface Sending {
  /** Whether everything was sent. */
  readonly isIdle: boolean
  /** Sends waiting data now. */
  flush(): void
}
