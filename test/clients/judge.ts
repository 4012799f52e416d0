/** Judges a client's results from its output and the gateway's log. */
import type { Case, Rig } from './rig.ts'
import type { Model } from './upstream.ts'

/** The driver's output, by case. */
export interface Seen {
  readonly text?: string
  readonly usage?: number
  readonly city?: string
  readonly error?: string
  readonly status?: number | null
  /** The time at which the client left, in milliseconds since 1970. */
  readonly at?: number
}

/** `good` becomes a tick; any other text is shown as a remark. */
export interface Verdict {
  readonly good: boolean
  readonly remark?: string
}

const GOOD: Verdict = { good: true }
const ABORT_MS_MAX = 1000
const ANSWER_TOKENS = 10

const bad = (remark: string): Verdict => ({ good: false, remark })

export function judge(one: Case, seen: Seen, rig: Rig, { left }: Model): Verdict {
  const lines = rig.lines(one)
  const said = seen.error ?? seen.text ?? JSON.stringify(seen)
  const expect = (holds: boolean) => (holds ? GOOD : bad(said))
  switch (one) {
    case 'whole':
    case 'slow':
      return expect(seen.text === 'hello')
    case 'stream':
      if (seen.text !== 'hello') return bad(said)
      return seen.usage === ANSWER_TOKENS ? GOOD : bad(`usage ${seen.usage}`)
    case 'tools':
      return expect(seen.text?.includes('sunny') === true)
    case 'shape':
      return expect(seen.city === 'Oslo')
    case 'bad':
      return refusedOnce(400)
    case 'unknown':
      return refusedOnce(401)
    case 'spent':
      return refusedOnce(402)
    case 'scope':
      return refusedOnce(403)
    case 'missing':
      return refusedOnce(404)
    case 'busy': {
      const refused = lines.filter(({ status }) => status === 429).length
      if (seen.error !== undefined) return bad(`raises after ${refused}`)
      if (refused === 0) return bad('never reached the limit')
      return refused === 1 ? GOOD : { good: true, remark: `asks ${refused} times` }
    }
    case 'cut':
      if (seen.error !== undefined) return GOOD
      // Some clients repeat the request without a stream, and show that answer.
      if (seen.text === 'hello' && lines.some(({ stream }) => !stream))
        return { good: true, remark: 'asks again' }
      return bad(`takes "${seen.text}" for the whole answer`)
    case 'leave': {
      const after = lines.map(
        ({ request_id }) => (left.get(request_id) ?? Infinity) - (seen.at ?? 0),
      )
      return after.some((ms) => ms <= ABORT_MS_MAX) ? GOOD : bad(`${after.join()} ms`)
    }
  }

  function refusedOnce(status: number): Verdict {
    const refused = lines.filter((line) => line.status === status).length
    if (seen.error === undefined) return bad(`no error: ${seen.text}`)
    if (refused === 0) return bad(said)
    if (seen.status != null && seen.status !== status) return bad(`shown as ${seen.status}`)
    return refused === 1 ? GOOD : { good: true, remark: `asks ${refused} times` }
  }
}
