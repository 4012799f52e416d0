/** The state of an upstream in words for people: whether it is well, and why it is not chosen or will not serve. */
import { isPushed } from '../endpoints/pushed.ts'
import type { Target } from './targets.ts'

type Shown = Pick<Target, 'state' | 'settings'>

/** Only probes know: nothing is called healthy that was never asked. */
export function healthOf({ settings, state }: Shown): string {
  const { isHealthy } = state
  if (isHealthy !== undefined) return isHealthy ? 'healthy' : 'unhealthy'
  if (isPushed(settings)) return 'unknown'
  return settings.healthPath === undefined ? 'not probed' : 'not yet probed'
}

/** Undefined where nothing speaks against it. */
export function whyNot(target: Target, now: number): string | undefined {
  const { settings, state } = target
  const out = state.outBecause(now)
  switch (out) {
    case 'reference unresolved':
      return `reference unresolved: ${settings.disabled}`
    case 'tokenizer mismatch':
      return 'it serves another model revision than its tokenizer is pinned to'
    case 'no endpoint':
      return 'it has no endpoint'
    case 'unhealthy':
      return 'its health probes fail'
    case 'breaker open':
      return `its breaker is open; last failure: ${state.failedLast ?? 'unknown'}`
    default:
  }
  const { status } = state.credential.refusals
  if (status !== undefined) return `it refuses the credential of the gateway (${status})`
  if (state.endpoints?.isBare) return 'no pod of its Service takes requests'
  return target.standing(now, false) === 'full' ? 'its queue is full' : undefined
}
