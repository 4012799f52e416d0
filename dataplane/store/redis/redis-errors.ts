/** The meaning of an error of Redis for the store: why it is unreachable, and whether the script may have run. */
import { type AwayReason, StoreAway } from './link.ts'

interface Meaning {
  readonly pattern: RegExp
  readonly reason: AwayReason
  readonly maybeApplied: boolean
}

/** Looked for at the beginning of the message; servers before 7 put the words of a script's command after its own. */
const MEANINGS: readonly Meaning[] = [
  { pattern: /^(READONLY|MASTERDOWN|NOREPLICAS)\b/, reason: 'readonly', maybeApplied: false },
  { pattern: /-(READONLY|NOREPLICAS) /, reason: 'readonly', maybeApplied: true },
  { pattern: /^OOM\b(?!.* script: )/, reason: 'oom', maybeApplied: false },
  { pattern: /^OOM\b|-OOM /, reason: 'oom', maybeApplied: true },
  { pattern: /^(NOAUTH|WRONGPASS)\b/, reason: 'noperm', maybeApplied: false },
  // A script may have written before it reached the forbidden command.
  {
    pattern: /^NOPERM\b|-NOPERM |ACL failure in script|The user executing the script can't/,
    reason: 'noperm',
    maybeApplied: true,
  },
  {
    pattern: /^(LOADING|CLUSTERDOWN|TRYAGAIN|MOVED|ASK|BUSY)\b|^Too many Cluster redirections/,
    reason: 'connection',
    maybeApplied: false,
  },
  // Never sent.
  {
    pattern: /enableOfflineQueue options is false|Cluster is ended|None of startup nodes/,
    reason: 'connection',
    maybeApplied: false,
  },
  {
    pattern:
      /^Connection is closed|^Command aborted|^Reached the max retries|^connect E|ECONN|EPIPE/,
    reason: 'connection',
    maybeApplied: true,
  },
]

export function awayBecause(error: unknown): StoreAway {
  if (error instanceof StoreAway) return error
  const message = error instanceof Error ? error.message : String(error)
  const meaning = MEANINGS.find(({ pattern }) => pattern.test(message))
  if (meaning === undefined) return new StoreAway('other', true, { cause: error })
  return new StoreAway(meaning.reason, meaning.maybeApplied, { cause: error })
}

export function isScriptUnknown(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT')
}

const SILENCE = 'no answer in time'

/** The text for a log line: the message of the server or the network, shortened. It never contains keys or values. */
export function wordsOf(error: unknown): string {
  const said = error instanceof StoreAway ? (error.cause ?? SILENCE) : error
  const message = said instanceof Error ? said.message : String(said)
  return message.replaceAll(/\s+/g, ' ').slice(0, 200)
}
