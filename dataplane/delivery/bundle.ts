/** The files mounted into a pod: the documents it starts with, and the public keys that prove them. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { parseJson } from '../json/parse.ts'
import {
  BUNDLE_FILES,
  CONFIGURATION_BYTES_MAX,
  ENDPOINTS_BYTES_MAX,
  KEYS_BYTES_MAX,
  KEYS_UNPACKED_BYTES_MAX,
  type Trust,
  trustOf,
} from './signed.ts'

const unzip = promisify(gunzip)
const PUBLIC_KEYS_MAX = 32
const PEM_BYTES_MAX = 16_384

const BYTES_MAX: Readonly<Record<keyof typeof BUNDLE_FILES, number>> = {
  desired: CONFIGURATION_BYTES_MAX,
  lastKnownGood: CONFIGURATION_BYTES_MAX,
  keys: KEYS_BYTES_MAX,
  endpoints: ENDPOINTS_BYTES_MAX,
}

export type BundlePart = keyof typeof BUNDLE_FILES

/** An unverified envelope; `fault` says why there is no envelope. */
export type Mounted = { readonly envelope: unknown } | { readonly fault: string }

export function fileOfPart(folder: string, part: BundlePart): string {
  return join(folder, BUNDLE_FILES[part])
}

/** Undefined if the folder has none. */
export async function readMounted(folder: string, part: BundlePart): Promise<Mounted | undefined> {
  const file = fileOfPart(folder, part)
  let bytes: Buffer | undefined
  try {
    bytes = readBounded(file, BYTES_MAX[part])
    if (bytes === undefined) return undefined
    if (part === 'keys') bytes = await unpack(bytes, KEYS_UNPACKED_BYTES_MAX)
    return { envelope: parseJson(bytes.toString()) }
  } catch (error) {
    return { fault: `${file} cannot be used: ${whyOf(error)}` }
  }
}

/** Rejects if it is larger. */
export async function unpack(bytes: Buffer, bytesMax: number): Promise<Buffer> {
  return await unzip(bytes, { maxOutputLength: bytesMax })
}

/** The keys of every `*.pem` of the folder: with several, the operator's key can be replaced while pods run. */
export function readTrust(folder: string): { trust: Trust; faults: readonly string[] } {
  const trust = new Map<string, Trust extends ReadonlyMap<string, infer Key> ? Key : never>()
  const faults: string[] = []
  for (const name of pemFiles(folder)) {
    const file = join(folder, name)
    try {
      const text = readBounded(file, PEM_BYTES_MAX)?.toString() ?? ''
      for (const [id, key] of trustOf([text])) trust.set(id, key)
    } catch (error) {
      faults.push(`${file} ${whyOf(error)}`)
    }
  }
  if (trust.size === 0) {
    faults.push(`${folder} holds no public key (*.pem): the pod will refuse every document`)
  }
  return { trust, faults }
}

function pemFiles(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith('.pem'))
      .slice(0, PUBLIC_KEYS_MAX)
  } catch {
    return []
  }
}

function readBounded(file: string, bytesMax: number): Buffer | undefined {
  const size = statSync(file, { throwIfNoEntry: false })?.size
  if (size === undefined) return undefined
  if (size > bytesMax) throw new Error(`it is larger than ${bytesMax} bytes`)
  return readFileSync(file)
}

/** Changes when any of the files does, also by the swapped link of a Kubernetes mount. */
export function fingerprintOf(files: readonly string[]): string {
  return files.map(stamp).join(' ')
}

function stamp(file: string): string {
  try {
    const { ino, mtimeMs, size } = statSync(file)
    return `${ino}:${mtimeMs}:${size}`
  } catch {
    return '-'
  }
}

/** Messages of the parser quote the text; a document is signed, not secret, but does not belong in a log. */
function whyOf(error: unknown): string {
  if (error instanceof SyntaxError) return 'it is not JSON'
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error ? String(error.code) : ''
  if (code === 'ERR_BUFFER_TOO_LARGE') return 'it unpacks to more than the bound'
  if (code.startsWith('Z_')) return 'it is not complete gzip'
  return code.startsWith('ERR_OSSL') ? 'is not a public key in PEM form' : error.message
}
