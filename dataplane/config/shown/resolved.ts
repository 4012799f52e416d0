/** The whole configuration as YAML: canonical, with defaults, without credentials. */
import { Document, isNode } from 'yaml'
import { mapStrings } from '../document/tree.ts'
import type { Loaded } from '../load.ts'
import { FIRST_CONTENT_SECONDS } from '../schema/upstreams.ts'
import { effectiveSection } from './effective.ts'
import { shownText } from './masking.ts'

/** What `printResolved` prints, as a value. */
export function resolvedDocument(loaded: Loaded): unknown {
  const { configuration, ownKeys, referenceAt, delivered } = loaded
  if (configuration === undefined) throw new Error('a refused configuration cannot be shown')
  // The keys of api_keys_file stay in their file, which is still named.
  const section = effectiveSection(configuration.gw, delivered === undefined ? 'file' : 'pod')
  const gw = { ...section, api_keys: section.api_keys.slice(0, ownKeys) }
  return mapStrings({ ...configuration, gw }, (value, path) =>
    path[0] === 'gw' ? shownText(value, path, referenceAt(path)) : value,
  )
}

/** Readers of YAML 1.1, kubectl among them, must not take the text "yes" for true. */
const OUTPUT = { lineWidth: 0, aliasDuplicateObjects: false, compat: 'yaml-1.1' } as const

/** Loads again to the same configuration, except for literals that had to be masked. */
export function printResolved(loaded: Loaded): string {
  const document = new Document(resolvedDocument(loaded), OUTPUT)
  for (const [index, { timeout_seconds }] of (loaded.configuration?.gw.upstreams ?? []).entries()) {
    // Written, it would hold for both kinds of answer.
    const upstream = document.getIn(['gw', 'upstreams', index], true)
    if (timeout_seconds === undefined && isNode(upstream)) upstream.commentBefore = NO_TIMEOUT
  }
  return document.toString(OUTPUT)
}

const NO_TIMEOUT = ` timeout_seconds: ${FIRST_CONTENT_SECONDS} for a stream; another answer has the whole time of the request`
