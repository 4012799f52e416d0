/**
 * Tags of a request, as far as the configuration declares them: those of its key, then
 * `X-Gw-Tags: team=blue,feature=search`, then headers of other gateways, then members of `metadata` in the body. The first
 * of them with a name sets it.
 */
import type { Incoming } from '../call/call.ts'
import type { KeyEntry } from '../call/key-entry.ts'
import type { Span } from '../json/found.ts'
import { parseJson } from '../json/parse.ts'
import { isRecord } from '../json/values.ts'
import { TAG_VALUE, TAG_VALUE_MAX } from '../schema/constants.ts'
import type { Section } from '../schema/index.ts'
import { type HeaderTags, headerTags } from './header-tags.ts'

/** Counted in place of a value that a report may not show. */
export const INVALID = 'invalid'

const TAGS_HEADER = 'x-gw-tags'
const HEADER_MAX = 1024
/** OpenAI's bounds are 16 members of 64 and 512 characters. */
const METADATA_BYTES_MAX = 16_384

/**
 * In the order of the declaration. A client's value that is not allowed in a report is `invalid`. Headers are read only
 * if the key leaves a name open.
 */
export function tagsOf(
  { tags: declared, tag_headers: headers }: Pick<Section['usage'], 'tags' | 'tag_headers'>,
  ofKey: KeyEntry['tags'],
  incoming: Pick<Incoming, 'header'>,
  metadata?: Readonly<Record<string, unknown>>,
): string {
  let given: ReadonlyMap<string, string> | undefined
  let others: HeaderTags | undefined
  const tags: string[] = []
  for (const name of declared) {
    const fixed = ofKey?.get(name)
    if (fixed !== undefined) {
      tags.push(fixed)
      continue
    }
    given ??= pairsIn(incoming.header(TAGS_HEADER))
    let value: unknown = given.get(name)
    if (value === undefined && headers.length > 0) {
      others ??= headerTags(headers, declared, incoming)
      value = others.values.get(name)
    }
    value ??= ownOf(metadata, name)
    // A header that cannot be read counts, so that reports show it.
    if (value === undefined && others?.hasUnread !== true) continue
    tags.push(`${name}=${isShown(value) ? value : INVALID}`)
  }
  return tags.join(',')
}

function isShown(value: unknown): value is string {
  return typeof value === 'string' && value.length <= TAG_VALUE_MAX && TAG_VALUE.test(value)
}

/** The member of a body at these positions; undefined if it is not an object, or larger than clients need. */
export function metadataIn(
  bytes: Buffer,
  span: Span | undefined,
): Readonly<Record<string, unknown>> | undefined {
  if (span === undefined || span.end - span.start > METADATA_BYTES_MAX) return undefined
  try {
    const value: unknown = parseJson(bytes.toString('utf8', span.start, span.end))
    return isRecord(value) ? value : undefined
  } catch {
    // The next check refuses the request for it.
    return undefined
  }
}

function pairsIn(header: string | undefined): ReadonlyMap<string, string> {
  const given = new Map<string, string>()
  if (header === undefined || header.length > HEADER_MAX) return given
  for (const pair of header.split(',')) {
    const at = pair.indexOf('=')
    if (at !== -1) given.set(pair.slice(0, at).trim(), pair.slice(at + 1).trim())
  }
  return given
}

function ownOf(metadata: Readonly<Record<string, unknown>> | undefined, name: string): unknown {
  return metadata !== undefined && Object.hasOwn(metadata, name) ? metadata[name] : undefined
}
