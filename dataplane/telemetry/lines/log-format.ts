/** The format of the log: text on a terminal, else JSON, unless GW_LOG_FORMAT is set. */

const LOG_FORMATS = ['auto', 'text', 'json'] as const

/** `said` was checked; it is empty if a template leaves the variable unset. */
export function logFormatOf(said: string | undefined, isTerminal: boolean): 'text' | 'json' {
  if (said === 'text' || said === 'json') return said
  return isTerminal ? 'text' : 'json'
}

export function logFormatFault(said: string | undefined): string | undefined {
  if (said === undefined || said === '' || LOG_FORMATS.some((known) => known === said)) return
  return `GW_LOG_FORMAT is ${JSON.stringify(said)}; it must be text, json or auto`
}
