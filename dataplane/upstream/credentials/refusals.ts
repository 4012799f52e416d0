/** Whether an upstream refuses the gateway's credential, as its answers show. */

/** A 403 may be about one request, or one model; three in a row are about the credential. */
const FORBIDDEN_MOST = 3

export class CredentialRefusals {
  #status: number | undefined
  #forbidden = 0

  /** The status of the refusals; undefined while no refusal is known. */
  get status(): number | undefined {
    return this.#status
  }

  refused(status: number): void {
    this.#forbidden = status === 403 ? this.#forbidden + 1 : 0
    if (status !== 403 || this.#forbidden >= FORBIDDEN_MOST) this.#status = status
  }

  /** Called after a served request, or when the credential changes. */
  clear(): void {
    this.#status = undefined
    this.#forbidden = 0
  }
}
