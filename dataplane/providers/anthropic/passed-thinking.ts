/** Adapts thinking, effort and sampling of a client's Messages request to the model. */
import type { Change } from '../../json/edit.ts'
import { isRecord, type Json, parsedExactly, rowOf, textOf } from '../../json/values.ts'
import type { ChatRequest } from '../../wire/inner-form.ts'
import type { Capabilities } from '../../wire/models/capabilities.ts'
import { BUDGETS, budgeted } from '../../wire/models/thinking-budgets.ts'
import { effortAmong } from '../efforts.ts'

const SAMPLING = ['temperature', 'top_p', 'top_k']
/** The budget for a client that sets no limit on thinking. */
const BUDGET_FREE = 'high'

interface Changed {
  /** New values of members; `undefined` removes a member. */
  readonly edits: ReadonlyMap<string, Change>
  readonly leftOut: readonly string[]
}

/** Nothing changes for an unknown model. */
export function changedThinking(request: ChatRequest, capabilities: Capabilities): Changed {
  const edits = new Map<string, Change>()
  const leftOut: string[] = []
  const leave = (member: string, name = member) => {
    edits.set(member, undefined)
    leftOut.push(name)
  }
  const thinking = memberIn(request, 'thinking')
  if (thinking !== undefined) {
    const other = otherThinking(thinking, request, capabilities)
    if (other === undefined) leave('thinking')
    else if (other !== thinking) edits.set('thinking', JSON.stringify(other))
  }
  const output = memberIn(request, 'output_config')
  const efforts = capabilities.reasons === false ? [] : capabilities.efforts
  if (output?.effort !== undefined && efforts !== undefined) {
    const effort = effortAmong(output.effort, efforts)
    const { effort: _effort, ...rest } = output
    if (effort === undefined) leftOut.push('output_config.effort')
    if (effort !== output.effort)
      edits.set('output_config', JSON.stringify(effort === undefined ? rest : { ...rest, effort }))
  }
  if (capabilities.sampling === false)
    for (const name of SAMPLING) if (request.spans.has(name)) leave(name)
  return { edits, leftOut }
}

function memberIn({ bytes, spans }: ChatRequest, name: string): Json | undefined {
  const span = spans.get(name)
  if (span === undefined) return undefined
  const value = parsedExactly(bytes.toString('utf8', span.start, span.end))
  return isRecord(value) ? value : undefined
}

/** The same object if the model accepts it; undefined: the gateway omits it. */
function otherThinking(
  thinking: Json,
  { body }: ChatRequest,
  capabilities: Capabilities,
): Json | undefined {
  const { reasons, thinking: form, thinkingOff, budgets } = capabilities
  if (reasons === false) return undefined
  if (thinking.type === 'disabled') {
    if (thinkingOff === 'between_tools') return { ...thinking, type: thinkingOff }
    return thinkingOff === 'never' || thinkingOff === 'unsaid' ? undefined : thinking
  }
  if (thinking.type === 'enabled' && form === 'adaptive' && !budgets) {
    const { budget_tokens: _budget, ...rest } = thinking
    return { display: 'summarized', ...rest, type: 'adaptive' }
  }
  if (thinking.type !== 'adaptive' || form !== 'budget') return thinking
  const effort = textOf(body.reasoning_effort) ?? BUDGET_FREE
  const limit = body.max_completion_tokens ?? body.max_tokens ?? undefined
  return budgeted(rowOf(BUDGETS, effort) ?? 0, limit, capabilities).thinking
}
