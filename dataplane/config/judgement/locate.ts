/** Turns findings by path into problems by file, line and column. */
import type { ParsedDocument } from '../document/document.ts'
import type { KeysFile } from '../document/keys-file.ts'
import { type Finding, type Path, type Problem, problemAt, showPath } from './problems.ts'

/** Locates a finding by its path as the user wrote it. */
export type Locator = (finding: Finding) => Problem

export function makeLocator(
  file: string,
  document: ParsedDocument,
  keys: { readonly file: KeysFile | undefined; readonly own: number },
): Locator {
  return (finding) => {
    const inKeys =
      keys.file === undefined ? undefined : pathInKeys(finding.path, keys.file, keys.own)
    const [place, path, from] =
      inKeys === undefined || keys.file === undefined
        ? [file, finding.path, document]
        : [keys.file.file, inKeys, keys.file.document]
    const position = from.positionOf(path, finding.atKey)
    return problemAt(finding, { file: place, path: showPath(path), ...position })
  }
}

/** The keys of the keys file follow the document's own keys. */
function pathInKeys(path: Path, keysFile: KeysFile, own: number): Path | undefined {
  const [root, section, index, ...rest] = path
  if (root !== 'gw' || section !== 'api_keys' || typeof index !== 'number') return undefined
  return index < own ? undefined : [...keysFile.root, index - own, ...rest]
}
