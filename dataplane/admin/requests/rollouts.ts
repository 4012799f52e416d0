/** Rollouts and shadows of routes as answers of the admin API. */
import type { Gateway } from '../../gateway/gateway.ts'
import { ACTIONS } from '../../rollout/state.ts'
import { type AdminQuery, type Answer, missing, ok } from './answers.ts'

export async function actOnRollout(
  route: string,
  { action }: AdminQuery,
  { rollouts }: Pick<Gateway, 'rollouts'>,
): Promise<Answer> {
  const wanted = ACTIONS.find((one) => one === action)
  if (wanted === undefined) {
    const message = `There is no action "${(action ?? '').slice(0, 100)}"; use ${ACTIONS.join(', ')}.`
    return { status: 400, body: { error: { message } } }
  }
  const found = await rollouts.act(route, wanted).catch(() => 'away' as const)
  if (found === 'away') {
    const message = 'The shared store does not answer, so nothing was changed. Try again.'
    return { status: 503, body: { error: { message } } }
  }
  if (found === undefined) return missing(`Route "${route.slice(0, 100)}" has no rollout.`)
  return ok(rollouts.list().find((one) => one.route === route))
}

export function shadowsOf({ active, shadows }: Pick<Gateway, 'active' | 'shadows'>) {
  const routes = active.snapshot.section.routes.flatMap(({ name, shadow }) =>
    shadow === undefined ? [] : [{ name, shadow }],
  )
  return shadows.list(routes)
}
