/**
 * The sixteen faults of the public Failover Bench: the primary's behaviour, and the expected
 * behaviour of a gateway. Ids and times are the bench's.
 */
import type { Seen } from './caller.ts'
import type { Asked, Deed } from './provider.ts'
import type { Manner } from './speech.ts'

export interface View extends Seen {
  readonly primary: readonly Asked[]
  readonly fallback: readonly Asked[]
  /** Whether a healthy call through the same gateway was answered afterwards. */
  readonly alive: boolean
  readonly flap: Flap | undefined
  /** The row's limit for the first content. */
  readonly firstSeconds: number
}

/** The results of a row of requests while the primary was down and recovered. */
export interface Flap {
  readonly endings: readonly Seen['ending'][]
  readonly during: number
  readonly primaryDuring: number
  /** From the primary's recovery to its first answer; undefined: never used again. */
  readonly recoveredAfterMs: number | undefined
}

export interface Check {
  readonly says: string
  /** Failing this check makes a rescued call `partial`; failing any other fails it. */
  readonly advisory?: true
  readonly holds: (view: View) => boolean
}

export interface Fault {
  readonly id: string
  readonly title: string
  readonly primary: (asked: Asked) => Deed
  readonly fallback?: Manner
  /** The result that a perfect gateway returns to the caller. */
  readonly ideal: 'answered' | 'error'
  /** The bench's verdict on a stream; an answer that is not a stream is always rescued. */
  readonly verdict: 'pass' | 'safe'
  readonly checks: readonly Check[]
  readonly flaps?: true
}

/**
 * The defaults of `idle_timeout_seconds`, and the limits for the first content in the bench's two
 * rows.
 */
export const IDLE_SECONDS = 60
export const FIRST_SECONDS = { asItComes: 30, limited: 10 }
/** The allowed delay of a busy machine. */
const LATE_MS = 8000
/** A later first token does not help. */
const SLOW_MS = 20_000
/** The primary is down for a minute; the last request comes 16 s after its recovery. */
export const FLAP = { everySeconds: 4, outageSeconds: 60, lastSeconds: 76 }
const RECOVER_MS = (FLAP.lastSeconds - FLAP.outageSeconds) * 1000 + LATE_MS

const OVERLOADED: Deed = { does: 'refuse', status: 503, code: 'overloaded' }
const GOOD: Deed = { does: 'answer' }

const boundedAttempts: Check = {
  says: 'at most 6 attempts at the primary',
  holds: ({ primary }) => primary.length <= 6,
}
const notTruncated: Check = {
  says: 'no truncated answer that looks whole',
  holds: ({ ending }) => ending !== 'truncated' && ending !== 'aborted',
}
const aliveAfter: Check = { says: 'serves afterwards', holds: ({ alive }) => alive }
const oneAttempt: Check = {
  says: 'the primary is asked once',
  holds: ({ primary }) => primary.length === 1,
}
const tellsUsage: Check = {
  says: 'usage is told',
  advisory: true,
  holds: ({ usage }) => usage !== undefined,
}

/** At most `attemptsMax` attempts within `windowMs` of the first one. */
function noHammer(attemptsMax: number, windowMs: number): Check {
  return {
    says: `at most ${attemptsMax} attempts in ${windowMs} ms`,
    holds: ({ primary }) =>
      primary.filter(({ at }) => at - (primary[0]?.at ?? 0) < windowMs).length <= attemptsMax,
  }
}

function within(milliseconds: number, advisory = false): Check {
  return {
    says: `over within ${milliseconds} ms`,
    ...(advisory && { advisory }),
    holds: (view) => view.milliseconds <= milliseconds,
  }
}

function once(deed: Deed): Fault['primary'] {
  return ({ index }) => (index === 0 ? deed : GOOD)
}

function always(deed: Deed): Fault['primary'] {
  return () => deed
}

function badly(manner: Manner): Fault['primary'] {
  return always({ does: 'answer', manner })
}

const rescued = { ideal: 'answered', verdict: 'pass' } as const
const cut = { ideal: 'answered', verdict: 'safe' } as const

export const FAULTS: readonly Fault[] = [
  {
    id: 'S01',
    title: '429 with Retry-After, once',
    primary: once({
      does: 'refuse',
      status: 429,
      code: 'rate_limit_exceeded',
      retryAfterSeconds: 2,
    }),
    ...rescued,
    checks: [
      {
        says: 'the primary is asked again',
        advisory: true,
        holds: ({ primary }) => primary.length >= 2,
      },
      {
        says: 'Retry-After is honoured',
        advisory: true,
        holds: ({ primary: [first, second] }) => (second?.at ?? 0) - (first?.at ?? 0) >= 1800,
      },
      noHammer(2, 1500),
    ],
  },
  {
    id: 'S02',
    title: '429 without Retry-After, for ever',
    primary: always({ does: 'refuse', status: 429, code: 'rate_limit_exceeded' }),
    ...rescued,
    checks: [noHammer(4, 3000), boundedAttempts],
  },
  {
    id: 'S03',
    title: '500 once',
    primary: once({ does: 'refuse', status: 500, code: 'internal' }),
    ...rescued,
    checks: [
      { says: 'repeated in place', advisory: true, holds: ({ primary }) => primary.length >= 2 },
    ],
  },
  {
    id: 'S04',
    title: '503 for ever',
    primary: always(OVERLOADED),
    ...rescued,
    checks: [boundedAttempts],
  },
  {
    id: 'S05',
    title: 'reset before the head, once',
    primary: once({ does: 'reset' }),
    ...rescued,
    checks: [],
  },
  {
    id: 'S06',
    title: 'no answer at all',
    primary: always({ does: 'silence' }),
    ...rescued,
    checks: [
      {
        says: 'over once the limit for the first content has passed',
        holds: ({ milliseconds, firstSeconds }) => milliseconds <= firstSeconds * 1000 + LATE_MS,
      },
      { ...oneAttempt, advisory: true },
    ],
  },
  {
    id: 'S07',
    title: 'the first token is slow',
    primary: badly({ slowMs: 5 * SLOW_MS }),
    ...rescued,
    checks: [within(SLOW_MS, true)],
  },
  {
    id: 'S08',
    title: 'cut in the middle',
    primary: badly({ cutAfter: 40 }),
    ...cut,
    checks: [notTruncated],
  },
  {
    id: 'S09',
    title: 'stalls in the middle',
    primary: badly({ stallAfter: 20 }),
    ...cut,
    checks: [within(IDLE_SECONDS * 1000 + LATE_MS), notTruncated, aliveAfter],
  },
  {
    id: 'S10',
    title: 'one event is no JSON',
    primary: badly({ brokenAt: 10 }),
    ...rescued,
    checks: [aliveAfter, notTruncated],
  },
  {
    id: 'S11',
    title: 'ends without [DONE]',
    primary: badly({ omitsDone: true }),
    ...rescued,
    checks: [within(LATE_MS), tellsUsage],
  },
  {
    id: 'S12',
    title: 'prompt too long',
    primary: always({ does: 'refuse', status: 400, code: 'context_length_exceeded' }),
    ...rescued,
    checks: [oneAttempt],
  },
  {
    id: 'S13',
    title: 'content filter',
    primary: always({ does: 'refuse', status: 400, code: 'content_policy_violation' }),
    ideal: 'error',
    verdict: 'pass',
    checks: [
      oneAttempt,
      {
        says: "the provider's reason reaches the caller",
        holds: ({ status, code }) => status === 400 && code === 'content_policy_violation',
      },
    ],
  },
  {
    id: 'S14',
    title: 'cut, and the fallback takes no prefill',
    primary: badly({ cutAfter: 40 }),
    fallback: { refusesPrefill: true },
    ...cut,
    checks: [
      notTruncated,
      {
        says: 'no prefill is sent, so its refusal masks nothing',
        holds: ({ primary, fallback, code }) =>
          code !== 'invalid_prefill' &&
          [...primary, ...fallback].every(({ body }) => body.messages.at(-1)?.role === 'user'),
      },
    ],
  },
  {
    id: 'S15',
    title: 'down for a while',
    primary: always(OVERLOADED),
    flaps: true,
    ...rescued,
    checks: [
      {
        says: 'every request of the outage is answered',
        holds: ({ flap }) =>
          flap !== undefined &&
          flap.during > 0 &&
          flap.endings.every((ending) => ending === 'answered'),
      },
      {
        says: 'the primary is used again in time',
        holds: ({ flap }) => (flap?.recoveredAfterMs ?? Number.NaN) <= RECOVER_MS,
      },
      {
        says: 'no more attempts than requests during the outage',
        advisory: true,
        holds: ({ flap }) => flap !== undefined && flap.primaryDuring <= flap.during,
      },
    ],
  },
  {
    id: 'S16',
    title: '503 for ever: whose answer is it?',
    primary: always(OVERLOADED),
    ...rescued,
    checks: [
      {
        says: "the answer names the fallback's model",
        holds: ({ model }) => model === 'fallback-model',
      },
      tellsUsage,
      boundedAttempts,
    ],
  },
]
