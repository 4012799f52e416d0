/** Where an endpoint is. */
export interface Address {
  /** Another one behind the same address is another endpoint. */
  readonly id: string
  readonly address: string
  readonly port: number
  readonly zone?: string | undefined
}
