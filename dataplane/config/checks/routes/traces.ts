/** The gateway keeps texts of clients only for routes that ask for it; validation warns about these. */
import { warn } from '../../judgement/problems.ts'
import { at, type Check } from '../contract.ts'

const textsAreKept: Check = ({ routes, telemetry }) => {
  const keeping = [...routes.entries()].filter(([, { trace }]) => trace?.keep_texts)
  return keeping.map(([index]) => {
    const path = at('routes', index, 'trace', 'keep_texts')
    if (telemetry.trace_ring === 0) {
      const message = 'keeps nothing: telemetry.trace_ring is 0'
      return warn(path, message, 'Raise trace_ring, or remove keep_texts.')
    }
    const message = 'the texts of clients stay in memory; callers of the admin API can read them'
    return warn(path, message, 'Remove keep_texts when you no longer need them.')
  })
}

export const traceChecks: readonly Check[] = [textsAreKept]
