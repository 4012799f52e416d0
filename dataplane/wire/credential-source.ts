/** The source of an expiring credential from an identity service. */

/** Variables of the process. */
export type Environment = Readonly<Record<string, string | undefined>>

export interface CredentialSource {
  /** Name of the service for operators: `Microsoft Entra ID`. */
  readonly from: string
  /**
   * Fetches a new credential from the service, without a cache. The first call loads the SDK. Rejects with an
   * explanation for operators that contains no secret, and stops with the signal.
   */
  fetch(signal: AbortSignal): Promise<FetchedCredential>
}

export interface FetchedCredential {
  /** The new `settings.credential`. A provider with several parts joins them in its own form. */
  readonly value: string
  /** Milliseconds since 1970; absent: unknown, so the credential is fetched again every few minutes. */
  readonly expiresAtMs?: number
  /** The parts of `value` that are secret; absent: the whole `value`. */
  readonly secrets?: readonly string[]
}
