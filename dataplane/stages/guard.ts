/** May its words go on, and those of its answer? The route's guardrails judge both. */
import type { Note } from '../guardrails/guard.ts'
import type { Guards } from '../guardrails/guards.ts'
import { judgeInput } from '../guardrails/input.ts'
import { outputInspector } from '../guardrails/output.ts'
import type { ModelRequest } from '../inner-form.ts'
import type { Inspector } from '../inspection/contract.ts'
import type { Admission } from './admit.ts'

export interface Guarded {
  /** As it may go on. */
  readonly request: ModelRequest
  readonly inspector: Inspector | undefined
}

export async function guard(
  request: ModelRequest,
  requestId: string,
  { caller, route }: Pick<Admission, 'caller' | 'route'>,
  { guards, note }: { readonly guards: Guards; readonly note: Note },
): Promise<Guarded> {
  const chosen = guards.of(route.section)
  const { tenant, key } = caller
  const subject = { requestId, tenant, key: key.record.id, model: route.name }
  const inspector = outputInspector(chosen, subject, note)
  return { request: await judgeInput(request, chosen, subject, note), inspector }
}
