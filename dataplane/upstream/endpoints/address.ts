/** Where an endpoint is. */
export interface Address {
  /** Distinguishes pods that had the same address one after the other. */
  readonly id: string
  readonly address: string
  readonly port: number
  readonly zone?: string | undefined
}
