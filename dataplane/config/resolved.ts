/** The whole configuration as YAML: canonical, with defaults, without credentials. */
import { stringify } from 'yaml'
import { effectiveSection } from './effective.ts'
import type { Loaded } from './load.ts'
import { shownText } from './masking.ts'
import { mapStrings } from './tree.ts'

/** What `printResolved` prints, as a value. */
export function resolvedDocument(loaded: Loaded): unknown {
  const { configuration, ownKeys, referenceAt } = loaded
  if (configuration === undefined) throw new Error('a refused configuration cannot be shown')
  // The keys of api_keys_file stay in their file, which is still named.
  const section = effectiveSection(configuration.gw)
  const gw = { ...section, api_keys: section.api_keys.slice(0, ownKeys) }
  return mapStrings({ ...configuration, gw }, (value, path) =>
    path[0] === 'gw' ? shownText(value, path, referenceAt(path)) : value,
  )
}

/** Readers of YAML 1.1, kubectl among them, must not take the text "yes" for true. */
const OUTPUT = { lineWidth: 0, aliasDuplicateObjects: false, compat: 'yaml-1.1' } as const

/** Loads again to the same configuration, except for literals that had to be masked. */
export function printResolved(loaded: Loaded): string {
  return stringify(resolvedDocument(loaded), OUTPUT)
}
