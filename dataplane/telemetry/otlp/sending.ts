/** Something that is on its way to a collector, as the end of the process sees it. */
export interface Sending {
  /** Whether everything has left. */
  readonly isIdle: boolean
  /** Sends now what waits. */
  flush(): void
}
