/**
 * The end user of a request: of the token's declared claim, else of the declared header, else as the body names it in
 * `user`, `safety_identifier` or `metadata.user_id`. Clients can leave it out; a claim or a header of a proxy is more
 * than the client's word.
 */
import { hashedUser } from '../accounts/further/selectors.ts'
import type { Incoming } from '../call/call.ts'
import type { KeyEntry } from '../call/key-entry.ts'
import { parseJson } from '../json/parse.ts'
import type { Section } from '../schema/index.ts'
import type { ModelRequest } from '../wire/inner-form.ts'
import { metadataIn } from './tags.ts'

/** Names the end user if no other header is declared and usage events have end users. */
export const USER_HEADER = 'x-gw-user'

/** The rest of a longer name is not read: it is no name, and its beginning tells users apart. */
const USER_BYTES_MAX = 4_096

/** `header`: lower-case. Undefined if the request has none. */
export function endUserOf(
  { endUser }: Pick<KeyEntry, 'endUser'>,
  header: string | undefined,
  incoming: Pick<Incoming, 'header'>,
  request: Pick<ModelRequest, 'bytes' | 'found'>,
): string | undefined {
  const declared = endUser ?? (header === undefined ? undefined : incoming.header(header))
  const user = declared || inBody(request)
  return user === undefined || user === '' ? undefined : user.slice(0, USER_BYTES_MAX)
}

/** As usage events may show it; undefined if they may not. */
export function shownUser(
  shown: Section['usage']['end_user'],
  user: string | undefined,
): string | undefined {
  if (shown === 'off' || user === undefined) return undefined
  return shown === 'hash' ? hashedUser(user) : user
}

function inBody({ bytes, found }: Pick<ModelRequest, 'bytes' | 'found'>): string | undefined {
  const span = found?.spans.get('user') ?? found?.spans.get('safety_identifier')
  if (span !== undefined) {
    const end = Math.min(span.end, span.start + USER_BYTES_MAX)
    const text = bytes.toString('utf8', span.start, end)
    return end < span.end ? text : textIn(text)
  }
  const id = metadataIn(bytes, found?.spans.get('metadata'))?.user_id
  return typeof id === 'string' ? id : undefined
}

function textIn(text: string): string | undefined {
  try {
    const value: unknown = parseJson(text)
    return typeof value === 'string' ? value : undefined
  } catch {
    return undefined
  }
}
