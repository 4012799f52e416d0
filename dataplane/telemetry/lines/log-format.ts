/** How the log is written: as text at a terminal, as JSON everywhere else, unless GW_LOG_FORMAT says otherwise. */

const LOG_FORMATS = ['auto', 'text', 'json'] as const

/** `said` is checked already; empty is how a template leaves a variable unset. */
export function logFormatOf(said: string | undefined, isTerminal: boolean): 'text' | 'json' {
  if (said === 'text' || said === 'json') return said
  return isTerminal ? 'text' : 'json'
}

export function logFormatFault(said: string | undefined): string | undefined {
  if (said === undefined || said === '' || LOG_FORMATS.some((known) => known === said)) return
  return `GW_LOG_FORMAT is ${JSON.stringify(said)}; it must be text, json or auto`
}
