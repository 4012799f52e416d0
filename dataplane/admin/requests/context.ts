/**
 * The body of GET /context/:request_id: the prompt and passages of a request, from its trace. Texts only where its
 * route keeps them.
 */
import type { Gateway } from '../../gateway/gateway.ts'
import { windowOf } from '../../limits/quote.ts'
import { TEXTS, type Trace } from '../../telemetry/trace/fields.ts'
import type { CountedBy } from '../../tokens/counter.ts'

export function contextOf(trace: Trace, gateway: Gateway) {
  const {
    context,
    counted_tokens,
    counted_exact,
    counted_by,
    retrieval = [],
    passages = [],
  } = trace
  const tokens = context?.prompt ?? counted_tokens
  const isExact = context?.exact ?? counted_exact
  const texts = trace[TEXTS]?.read()
  return {
    request_id: trace.request_id,
    route: trace.route,
    upstream: trace.upstream,
    status: trace.status,
    ...(trace.code !== undefined && { code: trace.code, message: trace.message }),
    prompt: {
      tokens,
      ...(tokens !== undefined && {
        counted: wordOf(isExact, context === undefined ? counted_by : undefined),
      }),
      decided_by: counted_by,
    },
    max_tokens: trace.max_tokens,
    // Only a search for passages records the window; without one, the route's present window is shown.
    window: context === undefined ? windowNow(trace.route, gateway) : context.window,
    reserved: context?.reserved,
    room: context?.room,
    added: context?.added ?? 0,
    used: {
      prompt_tokens: trace.prompt_tokens,
      completion_tokens: trace.completion_tokens,
      ...(trace.usage_estimated && { estimated: true }),
    },
    searches: retrieval,
    passages: passages.map((passage, at) => ({ ...passage, text: texts?.passages[at] })),
    // Null if none are kept: the route does not keep them, or newer ones replaced them.
    texts: texts === undefined ? null : { messages: texts.messages, left_out: texts.left_out },
  }
}

/**
 * The kind of the number. After a decision by an upper bound it is the upstream's number, if the upstream reports
 * usage.
 */
function wordOf(isExact: boolean | undefined, by: CountedBy | undefined): CountedBy {
  if (isExact === true) return 'exact'
  return by === 'upper bound' ? by : 'estimate'
}

/** The largest of the route's upstreams; null if none is known. */
function windowNow(route: string, { active }: Gateway): number | null {
  const windows = (active.lanes.get(route)?.targets ?? []).map(windowOf)
  const largest = Math.max(0, ...windows)
  return Number.isFinite(largest) && largest > 0 ? largest : null
}
