/** The new upstream of a route in words: the steps of its rollout, and the copies of its shadow. */
import type { RouteSection } from '../../schema/index.ts'

export function explainNewer({ rollout, shadow }: RouteSection): string[] {
  return [
    ...(rollout === undefined ? [] : [explainRollout(rollout)]),
    ...(shadow === undefined ? [] : [explainShadow(shadow)]),
  ]
}

function explainRollout({
  to,
  steps,
  every,
  sticky,
  back_on,
}: NonNullable<RouteSection['rollout']>): string {
  const shares = steps.map((step) => `${step} %`).join(', ')
  const whose = sticky === 'tenant' ? 'by tenant' : 'by session'
  const worse = Object.entries(back_on).map(([measure, margin]) => `${measure} ${margin}`)
  const back = worse.length === 0 ? '' : `, and back to 0 % if it is worse: ${worse.join(', ')}`
  return `rollout: ${to} gets ${shares} of requests, ${whose}, a step every ${every}${back}`
}

function explainShadow({ upstream, percent, tenant }: NonNullable<RouteSection['shadow']>): string {
  return `shadow: ${percent} % of requests are copied to ${upstream}, charged to tenant ${tenant}; no client waits for them`
}
