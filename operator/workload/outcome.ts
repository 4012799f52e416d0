/** The result of writing the objects of a gateway. */

export type WorkloadOutcome =
  | { readonly kind: 'applied'; readonly routeConflict?: string }
  /** An object of that name belongs to another owner. */
  | { readonly kind: 'conflict'; readonly message: string }
  /** Others roll first. */
  | { readonly kind: 'waiting'; readonly message: string; readonly routeConflict?: string }
