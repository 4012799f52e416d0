/** Delivers alerts in the background, one after the other, each at least once, or drops it with a line in the log. */
import type { Clock, Deadline } from '../../base/clock.ts'
import type { Post } from '../../connection/post.ts'
import type { Section } from '../../schema/index.ts'

/** Most alerts that wait. Alerts are rare, so a full queue means that the webhook does not answer. */
const QUEUE_MAX = 100

const ATTEMPTS_MAX = 5
const TIMEOUT_MS = 5_000
const BACKOFF_FIRST_MS = 1_000
const NO_ANSWER = `it did not answer within ${TIMEOUT_MS / 1000} s`

export interface WebhookOptions {
  readonly post: Post
  readonly clock: Clock
  /** Uniform in [0, 1). */
  readonly random: () => number
  readonly onDrop: (drop: Drop) => void
}

export interface Drop {
  readonly alert: Alert
  readonly reason: 'queue_full' | 'undelivered'
  /** `http://HOST:PORT`: the path may be a credential. */
  readonly origin: string
  /** The last answer of the webhook, or why there was none. */
  readonly why: string
}

/** The body of the request to the webhook. */
export interface Alert {
  readonly type: 'budget_alert' | 'ttft_slo_breach' | 'rollout_back'
}

interface Parcel {
  readonly alert: Alert
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  attempts: number
}

/** A deadline for the timeout of a post and for the wait between two. The caller must add it to the deadlines of the process. */
export class AlertWebhook implements Deadline {
  due = Number.POSITIVE_INFINITY
  seat = -1
  readonly #options: WebhookOptions
  readonly #queue: Parcel[] = []
  /** Identifies the running post; results of earlier posts are ignored. */
  #posting: symbol | undefined
  /** Why the last post failed. */
  #why = NO_ANSWER

  constructor(options: WebhookOptions) {
    this.#options = options
  }

  send(alert: Alert, url: string, headers: Readonly<Record<string, string>>): void {
    if (this.#queue.length >= QUEUE_MAX) {
      this.#options.onDrop({ alert, reason: 'queue_full', origin: originOf(url), why: this.#why })
      return
    }
    this.#queue.push({ alert, url, headers, attempts: 0 })
    if (this.#queue.length === 1) this.#post()
  }

  get waiting(): number {
    return this.#queue.length
  }

  expire(): void {
    if (this.#posting === undefined) this.#post()
    else this.#finished(this.#posting, NO_ANSWER)
  }

  #post(): void {
    this.due = Number.POSITIVE_INFINITY
    const parcel = this.#queue[0]
    if (parcel === undefined) return
    const { post, clock } = this.#options
    const posting = Symbol(parcel.url)
    this.#posting = posting
    this.due = clock.now() + TIMEOUT_MS
    parcel.attempts++
    const headers = { 'content-type': 'application/json', ...parcel.headers }
    // An error that is thrown at once must not reach the request that caused the alert.
    new Promise<number | undefined>((resolve) => {
      resolve(post(parcel.url, JSON.stringify(parcel.alert), headers))
    }).then(
      (status) => this.#finished(posting, status === undefined ? '' : `it answered ${status}`),
      (error: Error) => this.#finished(posting, error.message || error.name),
    )
  }

  /** `why` is empty if the webhook accepted the alert. */
  #finished(posting: symbol, why: string): void {
    const parcel = this.#queue[0]
    if (posting !== this.#posting || parcel === undefined) return
    this.#posting = undefined
    this.#why = why || NO_ANSWER
    if (why === '' || parcel.attempts >= ATTEMPTS_MAX) {
      this.#queue.shift()
      const { alert, url } = parcel
      if (why !== '')
        this.#options.onDrop({ alert, reason: 'undelivered', origin: originOf(url), why })
      this.#post()
      return
    }
    const { clock, random } = this.#options
    const backoff = BACKOFF_FIRST_MS * 2 ** (parcel.attempts - 1)
    this.due = clock.now() + backoff * (0.5 + random() / 2)
  }
}

function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : 'an invalid URL'
}

/** Sends the alert to the webhook of the present configuration, if it has one. */
export function sendAlert(alert: Alert, webhook: AlertWebhook, alerts: Section['alerts']): void {
  const { webhook_url, headers } = alerts ?? {}
  if (webhook_url !== undefined) webhook.send(alert, webhook_url, headers ?? {})
}
