/** Stored responses at upstreams, by their tenants' ids: read, delete, cancel. */
import { isRecord, textOf } from '../../../json/values.ts'
import { type Kept, sealedId, secretOf } from './ids.ts'
import { keptApi, type Resource } from './resource.ts'

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

export const keptResponse = keptApi(
  RESPONSES,
  'GET',
  'A response that the upstreams of its route store for the tenant; `/input_items` below its id lists its input.',
)

export const keptResponseCancelled = keptApi(
  RESPONSES,
  'POST',
  'Ends such a response that runs in the background, with `/cancel` below its id.',
)

export const keptResponseDeleted = keptApi(RESPONSES, 'DELETE', 'Deletes such a response.')
