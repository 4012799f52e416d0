/** `api_keys_file`: the list of keys in a separate file. */

import { isRecord, valueBelow } from '../../json/values.ts'
import {
  type Finding,
  type Path,
  type Problem,
  problemAt,
  refuse,
  showPath,
} from '../judgement/problems.ts'
import { type ParsedDocument, parseDocument } from './document.ts'
import { type Host, type Resolution, reasonOf, resolveReferences } from './references.ts'

export interface KeysFile {
  readonly file: string
  readonly document: ParsedDocument
  readonly resolution: Resolution
  /** Keys with references resolved, and as written. */
  readonly keys: readonly unknown[]
  readonly written: readonly unknown[]
  /** Path of the list in the file. */
  readonly root: Path
}

export type KeysResult =
  | { readonly kind: 'read'; readonly keysFile: KeysFile; readonly problems: readonly Problem[] }
  | { readonly kind: 'invalid'; readonly problems: readonly Problem[] }
  | { readonly kind: 'unreadable'; readonly file: string; readonly why: string }

export function readKeysFile(file: string, host: Host): KeysResult {
  let text: string
  try {
    text = host.readText(file)
  } catch (error) {
    return { kind: 'unreadable', file, why: reasonOf(error) }
  }
  const { document, problems } = parseDocument(text, file, 'map or list')
  if (document === undefined) return { kind: 'invalid', problems }
  const resolution = resolveReferences(document.tree, host, { within: [], file })
  const root: Path = Array.isArray(document.tree) ? [] : ['api_keys']
  const keys = valueBelow(resolution.tree, ...root)
  const written = valueBelow(document.tree, ...root)
  const found = [...resolution.findings, ...otherFields(document.tree)]
  if (!Array.isArray(keys) || !Array.isArray(written)) {
    const fix = 'Write a list of keys, or api_keys: and the list under it.'
    const wrong = refuse(root, 'holds no list of keys', fix)
    return { kind: 'invalid', problems: located([...found, wrong], file, document) }
  }
  const keysFile = { file, document, resolution, keys, written, root }
  return { kind: 'read', keysFile, problems: located(found, file, document) }
}

function otherFields(tree: unknown): Finding[] {
  if (!isRecord(tree)) return []
  return Object.keys(tree).flatMap((key) => {
    if (key === 'api_keys') return []
    const finding = refuse([key], `unknown field ${JSON.stringify(key)}`, 'Keep api_keys: alone.')
    return [{ ...finding, atKey: true }]
  })
}

function located(findings: readonly Finding[], file: string, document: ParsedDocument): Problem[] {
  return findings.map((finding) =>
    problemAt(finding, {
      file,
      path: showPath(finding.path),
      ...document.positionOf(finding.path, finding.atKey),
    }),
  )
}
