/** Whether the services beside the models would be called for a request now. */
import type { Route } from '../config/snapshot.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { requireTexts } from '../request/stages/guard.ts'
import { refusalNow } from '../retrieval/look-up.ts'
import { isGenerated } from '../tokens/count.ts'
import type { ModelRequest } from '../wire/inner-form.ts'

/** Throws the error of the first service that is needed before an upstream and not called, in the order of requests. */
export function requireServices(
  request: ModelRequest,
  route: Route,
  { guards, retrievals, clock }: Pick<Gateway, 'guards' | 'retrievals' | 'clock'>,
): void {
  const { section } = route
  if (section.guardrails.length > 0) requireTexts(request, route)
  const judging = guards.of(section).filter((guard) => guard.judges('input'))
  const inOrder = judging.filter((guard) => !guard.section.parallel)
  const beside = judging.filter((guard) => guard.section.parallel)
  // Only conversations get passages.
  const retrievers = request.operation === 'chat' ? retrievals.of(section) : []
  const errors = [
    ...inOrder.map((guard) => guard.refusalNow()),
    ...retrievers.map((retriever) => refusalNow(retriever, clock)),
    ...beside.map((guard) => guard.refusalNow()),
  ]
  throwFirst(errors)
}

/** Throws the error of the first guardrail that must judge the answer and is not called. */
export function requireJudges(
  { operation }: ModelRequest,
  { section }: Route,
  { guards }: Pick<Gateway, 'guards'>,
): void {
  if (!isGenerated(operation)) return
  const judging = guards.of(section).filter((guard) => guard.judges('output'))
  throwFirst(judging.map((guard) => guard.refusalNow()))
}

function throwFirst(errors: readonly (Error | undefined)[]): void {
  const first = errors.find((error) => error !== undefined)
  if (first !== undefined) throw first
}
