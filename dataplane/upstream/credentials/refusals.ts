/** Whether an upstream refuses the credential that it is sent, as its answers say. */

/** A 403 may be about one request, or one model; three in a row are about the credential. */
const FORBIDDEN_MOST = 3

export class CredentialRefusals {
  #status: number | undefined
  #forbidden = 0

  /** The status of its refusals; undefined while it takes the credential, as far as is known. */
  get status(): number | undefined {
    return this.#status
  }

  refused(status: number): void {
    this.#forbidden = status === 403 ? this.#forbidden + 1 : 0
    if (status !== 403 || this.#forbidden >= FORBIDDEN_MOST) this.#status = status
  }

  /** It has served a request, or another credential is sent from now on. */
  clear(): void {
    this.#status = undefined
    this.#forbidden = 0
  }
}
