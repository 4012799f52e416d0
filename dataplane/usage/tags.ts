/**
 * Tags that a client gives its request, as far as the configuration declares them: `X-Gw-Tags: team=blue,feature=search`, or
 * members of `metadata` in the body. The header wins.
 */
import type { Span } from '../json/found.ts'
import { isRecord } from '../json/values.ts'

export const TAGS_HEADER = 'x-gw-tags'
const HEADER_MAX = 1024
/** OpenAI's bounds are 16 members of 64 and 512 characters. */
const METADATA_BYTES_MAX = 16_384
const VALUE = /^[A-Za-z0-9_.:/@-]{1,64}$/

/** The declared ones, in the order of the declaration. A value that may not stand in a report is `invalid`. */
export function tagsOf(
  header: string | undefined,
  declared: readonly string[],
  metadata?: Readonly<Record<string, unknown>>,
): string {
  const given = pairsIn(header)
  const tags: string[] = []
  for (const name of declared) {
    const value = given.get(name) ?? ownOf(metadata, name)
    if (value === undefined) continue
    const isShown = typeof value === 'string' && VALUE.test(value)
    tags.push(`${name}=${isShown ? value : 'invalid'}`)
  }
  return tags.join(',')
}

/** The member of a body at these places; undefined where it is no object, or larger than clients have reason to send. */
export function metadataIn(
  bytes: Buffer,
  span: Span | undefined,
): Readonly<Record<string, unknown>> | undefined {
  if (span === undefined || span.end - span.start > METADATA_BYTES_MAX) return undefined
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8', span.start, span.end))
    return isRecord(value) ? value : undefined
  } catch {
    // The request is refused for it in a moment.
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
