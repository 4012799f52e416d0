/** Where a credential comes from that an identity service gives out and that expires. */

/** Variables of the process. */
export type Environment = Readonly<Record<string, string | undefined>>

export interface CredentialSource {
  /** The service that is asked, in words for operators: `Microsoft Entra ID`. */
  readonly from: string
  /**
   * Asks the service for a fresh credential, without a cache. The first call loads the SDK. Rejects with words for
   * operators that hold no secret, and gives up with the signal.
   */
  fetch(signal: AbortSignal): Promise<FetchedCredential>
}

export interface FetchedCredential {
  /** What `settings.credential` is from then on. A provider that needs several parts joins them in a form of its choice. */
  readonly value: string
  /** Milliseconds since 1970; absent: it does not say, so it is fetched again every few minutes. */
  readonly expiresAtMs?: number
  /** The parts of `value` that must never be shown; absent: `value` alone. */
  readonly secrets?: readonly string[]
}
