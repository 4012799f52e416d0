/** Requests that use stored objects: they need a route that stores responses, and the tenant's own responses. */
import { invalid } from '../../../body/request.ts'
import { mayUse } from '../../../call/key-entry.ts'
import type { Applicant } from '../../../limits/decision.ts'
import type { Visit } from '../../../request/api.ts'
import { serve, type Work } from '../../../request/pipeline.ts'
import type { ChatRequest } from '../../../wire/inner-form.ts'
import type { StateUse } from '../request/shape.ts'
import { sessionOf } from '../session.ts'
import { homesOf, placeOf } from './homes.ts'
import { type Kept, sealedId, secretOf } from './ids.ts'

/** It continues after the client disconnects, so it needs a limit, and is charged for the limit. */
const BACKGROUND_TOKENS = 4_096

export const respond: Work = (applicant, dialect, visit) => {
  // The dialect has read it.
  const request = applicant.request as ChatRequest
  const { state } = sessionOf(request)
  if (state === undefined) return serve(applicant, dialect, visit)
  return serve({ ...applicant, request: keeping(request, state, applicant, visit) }, dialect, visit)
}

/** For work that no upstream does. */
export function stateless(work: Work): Work {
  return (applicant, dialect, visit) => {
    const { state } = sessionOf(applicant.request as ChatRequest)
    if (state !== undefined) throw invalid(state.message, state.param)
    return work(applicant, dialect, visit)
  }
}

/** Throws ERR_GW_INVALID_REQUEST if the route stores nothing, or the previous response is not the tenant's. */
function keeping(
  request: ChatRequest,
  state: StateUse,
  { route, caller }: Applicant,
  { active, response }: Visit,
): ChatRequest {
  const homes = homesOf(route, active)
  if (homes === undefined) throw invalid(state.message, state.param)
  const edits = new Map(request.edits)
  // By the API's default the response is stored.
  edits.delete('store')
  const known = state.previous ?? state.conversation
  const kind = state.previous === undefined ? 'conversation' : 'response'
  const place = known === undefined ? undefined : placeOf(kind, known, caller.tenant, active)
  if (known !== undefined) {
    const isThere = place !== undefined && homes.some(({ name }) => name === place.upstream)
    if (!isThere || !mayUse(caller.key, place.route === route.name ? route : { name: place.route }))
      throw unknown(kind, state.param)
    edits.set(state.param, JSON.stringify(place.id))
  }
  sessionOf(request).keep((id) => {
    const { route, upstream } = response
    const secret = secretOf(active.snapshot.upstreams.get(upstream) ?? { credential: '' })
    return sealedId({ kind: 'response', route, upstream, id }, caller.tenant, secret)
  })
  const names = place === undefined ? homes.map(({ name }) => name) : [place.upstream]
  return {
    ...request,
    ...limited(request, state, edits),
    edits,
    keepers: new Set(names),
    untranslated: request.untranslated ?? state,
  }
}

function limited(
  { maxTokens }: ChatRequest,
  { isBackground }: StateUse,
  edits: Map<string, string | undefined>,
): Pick<ChatRequest, 'maxTokens'> | undefined {
  if (!isBackground || maxTokens !== undefined) return undefined
  edits.set('max_output_tokens', String(BACKGROUND_TOKENS))
  return { maxTokens: BACKGROUND_TOKENS }
}

function unknown(kind: Kept, param: string) {
  return invalid(`"${param}" names no ${kind} that this route stores for you.`, param)
}
