/** Answers of the admin API of every pod: requested when a view needs them, kept until they are too old. */
import { headers } from './connection.js'

const FORGET_MS = 60_000
const TIMEOUT_MS = 15_000

export class Answers {
  #kept = new Map()
  #arrived

  constructor(arrived) {
    this.#arrived = arrived
  }

  /**
   * The last answers to a path, and a new request if they are older than `everyMs`. Undefined until the first has
   * arrived.
   */
  of(pods, path, everyMs) {
    const now = Date.now()
    for (const [each, { usedAt }] of this.#kept)
      if (now - usedAt > FORGET_MS) this.#kept.delete(each)
    const entry = this.#kept.get(path) ?? { askedAt: 0, answers: undefined, isAsking: false }
    this.#kept.set(path, entry)
    entry.usedAt = now
    if (!entry.isAsking && now - entry.askedAt >= everyMs) void this.#ask(entry, pods, path)
    return entry.answers
  }

  async #ask(entry, pods, path) {
    entry.isAsking = true
    entry.askedAt = Date.now()
    entry.answers = await Promise.all(pods.map((pod) => answerOf(pod, path)))
    entry.isAsking = false
    this.#arrived()
  }
}

/** `status` is 0 without an answer. */
async function answerOf({ name, path: root }, path) {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const answer = await fetch(`..${root}${path}`, { headers: headers(), signal })
    return { name, status: answer.status, body: await answer.json() }
  } catch (error) {
    return { name, status: 0, body: { error: { message: error.message } } }
  }
}

/** The bodies of successful answers. */
export function bodies(answers) {
  return (answers ?? []).filter(({ status }) => status === 200).map(({ body }) => body)
}

/** Explains to people why the others failed. */
export function faults(answers) {
  return (answers ?? [])
    .filter(({ status }) => status !== 200)
    .map(({ name, body }) => `${name}: ${body?.error?.message ?? 'no answer'}`)
}
