/** Has the request the tags without which the gateway serves none? Asked before it costs anything. */

import { tagIn } from '../../accounts/further/selectors.ts'
import { GatewayError } from '../../base/errors.ts'
import type { Caller } from '../../call/call.ts'
import { INVALID } from '../../usage/tags.ts'

const VALUES = 'VALUE has up to 64 letters, digits and . _ : / @ -'

/** `tags`: those of the request. Throws ERR_GW_TAG_REQUIRED. */
export function requireTags(
  required: readonly string[],
  tags: string,
  { key }: Pick<Caller, 'key'>,
): void {
  if (required.length === 0) return
  // The record of a key may have any value.
  const lacking = required.filter(
    (name) => !key.tags?.has(name) && (tagIn(tags, name) ?? INVALID) === INVALID,
  )
  const [first] = lacking
  if (first === undefined) return
  const isThere = tagIn(tags, first) !== undefined
  const why = isThere ? 'its value in the request is not valid' : 'the request has none'
  const pairs = lacking.map((name) => `${name}=VALUE`).join(',')
  throw new GatewayError(
    'ERR_GW_TAG_REQUIRED',
    `This gateway requires the tag "${first}", and ${why}. Send the header "X-Gw-Tags: ${pairs}"; ${VALUES}.`,
    { facts: { missing_tags: lacking } },
  )
}
