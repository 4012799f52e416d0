/** Responses that upstreams keep, by the ids that their tenants know: read, deleted, cancelled. */
import { isRecord, textOf } from '../../../json/values.ts'
import type { Api } from '../../contract.ts'
import { responsesWire as wire } from '../wire.ts'
import { type Kept, sealedId, secretOf } from './ids.ts'
import { passOn, type Resource } from './resource.ts'

const RESPONSES: Resource = {
  kind: 'response',
  top: '/responses',
  below: { GET: /^(\/input_items)?$/, DELETE: /^$/, POST: /^\/cancel$/ },
  missing: 'this gateway does not store responses.',
  /** With the ids that the client knows. */
  shown({ id, previous_response_id, conversation }, { id: shown, tenant, place, target }) {
    const known = (kind: Kept, raw: string) =>
      sealedId({ ...place, kind, id: raw }, tenant, secretOf(target.settings))
    const previous = textOf(previous_response_id)
    const within = isRecord(conversation) ? textOf(conversation.id) : undefined
    return {
      ...(id === place.id && { id: shown }),
      ...(previous !== undefined && { previous_response_id: known('response', previous) }),
      ...(within !== undefined && { conversation: { id: known('conversation', within) } }),
    }
  },
}
const path = '/v1/responses/*'

export const keptResponse: Api = {
  method: 'GET',
  path,
  summary:
    'A response that the upstreams of its route keep for the tenant; `/input_items` below its id lists its input.',
  wire,
  run: (visit) => passOn(RESPONSES, 'GET', visit),
}

export const keptResponseCancelled: Api = {
  method: 'POST',
  path,
  summary: '`/cancel` below the id of such a response that runs in the background ends it.',
  wire,
  run: (visit) => passOn(RESPONSES, 'POST', visit),
}

export const keptResponseDeleted: Api = {
  method: 'DELETE',
  path,
  summary: 'Deletes such a response.',
  wire,
  run: (visit) => passOn(RESPONSES, 'DELETE', visit),
}
