/** Replaces references by their values. Variables and files are arguments. */
import { isRecord } from '../../json/values.ts'
import { type Finding, type Path, refuse, showPath } from '../judgement/problems.ts'
import { refuseForeign } from './foreign-references.ts'
import { type Reference, type ReferenceKind, splitReferences } from './reference-syntax.ts'

export interface Host {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Throws when the file cannot be read. */
  readText(path: string): string
  /** Milliseconds since the epoch; without it expiry is not judged. */
  now?(): number
  /** Set in a pod, where the author of the configuration may not read files by path. */
  readonly refusesFiles?: boolean
}

export interface Unresolved {
  readonly path: Path
  readonly reference: string
  readonly why: string
}

/** A string with references: its written form and its value. */
export interface ReferenceUse {
  readonly text: string
  readonly kinds: readonly ReferenceKind[]
}

export interface Resolution {
  readonly tree: unknown
  readonly unresolved: readonly Unresolved[]
  /** By `showPath` of the string. */
  readonly uses: ReadonlyMap<string, ReferenceUse>
  /** Malformed references. */
  readonly findings: readonly Finding[]
}

/** Why `${file:}` does not resolve in a pod. */
const FILE_IN_CLUSTER = 'a pod reads no file by its path; write ${secret:NAME/KEY}'

/** A credential is short; a file this long is a mistake. */
const VALUE_LENGTH_MAX = 65_536
const SECRETS_DIRECTORY = '/var/run/secrets/gw'

/** Which part of which file is resolved. */
interface Extent {
  /** Path below which references are resolved. */
  readonly within?: Path
  /** The file of the tree: relative paths in it are beside it. */
  readonly file?: string
}

/** Resolves every string of the tree, by default of its `gw` section. */
export function resolveReferences(
  tree: unknown,
  host: Host,
  { within = ['gw'], file = '' }: Extent = {},
): Resolution {
  const unresolved: Unresolved[] = []
  const uses = new Map<string, ReferenceUse>()
  const findings: Finding[] = []
  const resolve = (text: string, path: Path) => {
    const kinds: ReferenceKind[] = []
    let isWhole = true
    const values = splitReferences(text).map((piece) => {
      if ('literal' in piece) return piece.literal
      if ('malformed' in piece) {
        findings.push(refuse(path, `malformed reference ${quote(piece.malformed)}`, piece.fix))
        isWhole = false
        return ''
      }
      kinds.push(piece.reference.kind)
      const found = lookUp(piece.reference, host, file)
      if ('value' in found) return found.value
      unresolved.push({ path, reference: piece.reference.text, why: found.why })
      isWhole = false
      return ''
    })
    uses.set(showPath(path), { text, kinds })
    return isWhole ? values.join('') : text
  }
  const resolved = replaceBelow(tree, within, (value) => {
    findings.push(...refuseInNames(value, within), ...refuseForeign(value, within))
    return resolveBelow(value, within, resolve)
  })
  return { tree: resolved, unresolved, uses, findings }
}

function replaceBelow(tree: unknown, path: Path, replace: (value: unknown) => unknown): unknown {
  const [part, ...rest] = path
  if (part === undefined) return replace(tree)
  if (!isRecord(tree) || !Object.hasOwn(tree, part)) return tree
  return { ...tree, [part]: replaceBelow(tree[part], rest, replace) }
}

/** Copies only the parts with references; the rest, often thousands of tenants and keys, is shared. */
function resolveBelow(
  value: unknown,
  path: Path,
  resolve: (text: string, path: Path) => string,
): unknown {
  if (!mentionsReference(value)) return value
  if (typeof value === 'string') return resolve(value, path)
  if (Array.isArray(value)) {
    return value.map((entry, index) => resolveBelow(entry, [...path, index], resolve))
  }
  if (!isRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => [
      key,
      resolveBelow(entry, [...path, key], resolve),
    ]),
  )
}

function mentionsReference(value: unknown): boolean {
  if (typeof value === 'string') return value.includes('${')
  if (Array.isArray(value)) return value.some(mentionsReference)
  if (!isRecord(value)) return false
  for (const key in value) if (key.includes('${') || mentionsReference(value[key])) return true
  return false
}

/** References in names of fields would silently stay as they are. */
function refuseInNames(value: unknown, path: Path): Finding[] {
  if (!mentionsReference(value)) return []
  if (Array.isArray(value)) {
    return value.flatMap((entry, index) => refuseInNames(entry, [...path, index]))
  }
  if (!isRecord(value)) return []
  return Object.entries(value).flatMap(([key, entry]) => {
    const below = refuseInNames(entry, [...path, key])
    if (!key.includes('${')) return below
    const message = 'a reference in a name is not read'
    const fix = 'Write the name out; references work in values.'
    return [{ ...refuse([...path, key], message, fix), atKey: true }, ...below]
  })
}

type LookUp = { readonly value: string } | { readonly why: string }

function lookUp({ kind, target }: Reference, host: Host, file: string): LookUp {
  if (kind === 'env') {
    const value = host.env[target]
    if (value === undefined) return { why: `environment variable ${target} is not set` }
    const line = withoutLineEnd(value)
    return line === '' ? { why: `environment variable ${target} is empty` } : { value: line }
  }
  if (kind === 'file' && host.refusesFiles === true) return { why: FILE_IN_CLUSTER }
  return readValue(fileOf(kind, target, host, file), host)
}

function fileOf(kind: 'file' | 'secret', target: string, host: Host, file: string): string {
  if (kind === 'file') return besideFile(file, target)
  const directory = host.env.GW_SECRETS_DIR || SECRETS_DIRECTORY
  return `${directory.replace(/\/+$/, '')}/${target}`
}

/** The files that the references of a text read, to watch them. */
export function filesReferredTo(text: string, host: Host, file = ''): string[] {
  return splitReferences(text).flatMap((piece) => {
    if (!('reference' in piece) || piece.reference.kind === 'env') return []
    if (piece.reference.kind === 'file' && host.refusesFiles === true) return []
    return [fileOf(piece.reference.kind, piece.reference.target, host, file)]
  })
}

/** Relative paths in a configuration are relative to its file. */
export function besideFile(file: string, path: string): string {
  const end = file.lastIndexOf('/')
  return path.startsWith('/') || end === -1 ? path : `${file.slice(0, end + 1)}${path}`
}

function readValue(path: string, host: Host): LookUp {
  let text: string
  try {
    text = host.readText(path)
  } catch (error) {
    return { why: `file ${path} cannot be read (${reasonOf(error)})` }
  }
  const value = withoutLineEnd(text)
  if (value === '') return { why: `file ${path} is empty` }
  if (value.length > VALUE_LENGTH_MAX) return { why: `file ${path} is too large for a value` }
  return { value }
}

/** Secrets that were written with an editor or echo end with one. */
function withoutLineEnd(text: string): string {
  return text.replace(/\r?\n$/, '')
}

/** The code of a system error is enough, and never contains the content of a file. */
export function reasonOf(error: unknown): string {
  if (error instanceof Error && 'code' in error) return String(error.code)
  return error instanceof Error ? error.message : String(error)
}

function quote(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}...` : text)
}
