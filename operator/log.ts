/** JSON lines on standard output, with the same members as those of the data plane. */

type LogFields = Readonly<Record<string, unknown>>

export interface Log {
  event(level: 'info' | 'warn' | 'error', event: string, message: string, fields?: LogFields): void
}

export function createLog(write: (line: string) => void, wallClock: () => number): Log {
  return {
    event(level, event, message, fields) {
      const time = new Date(wallClock()).toISOString()
      write(`${JSON.stringify({ time, level, event, message, ...fields })}\n`)
    },
  }
}

export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : ''
  return `${error.message}${cause}`
}
