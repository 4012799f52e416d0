/** The files of `tls` sections: checks them and reads their content. */
import { hash } from 'node:crypto'
import type { Section, UpstreamSection } from '../schema/index.ts'
import { type Finding, type Path, refuse } from './judgement/problems.ts'
import { certificatesOf, keyOf } from './pem.ts'

export type Tls = NonNullable<Section['tls']>

/** Throws when the file cannot be read. */
export type ReadText = (path: string) => string

type TlsField = 'ca_bundle_path' | 'client_cert_path' | 'client_key_path'

const FIELDS: readonly TlsField[] = ['ca_bundle_path', 'client_cert_path', 'client_key_path']

/** An upstream's own fields win over the gateway's; a field it leaves out, min_version say, still holds. */
export function tlsOf(
  upstream: Pick<UpstreamSection, 'tls'>,
  whole: Pick<Section, 'tls'>,
): Tls | undefined {
  if (upstream.tls === undefined || whole.tls === undefined) return upstream.tls ?? whole.tls
  return { ...whole.tls, ...upstream.tls }
}

/**
 * Finds mistakes in the files of every `tls` section. Without this a bad CA file would be passed
 * over in silence, since OpenSSL skips what it cannot read.
 */
export function readTlsFiles(section: Section, readText: ReadText): Finding[] {
  const sections: (readonly [Path, Tls | undefined])[] = [
    [['gw', 'tls'], section.tls],
    ...section.upstreams.map(({ tls }, index) => [['gw', 'upstreams', index, 'tls'], tls] as const),
  ]
  return sections.flatMap(([path, tls]) => (tls === undefined ? [] : judge(tls, path, readText)))
}

/** Every named file once, to watch it. */
export function tlsFilesOf(section: Section): string[] {
  const named = [section.tls, ...section.upstreams.map(({ tls }) => tls)].flatMap((tls) =>
    FIELDS.flatMap((field) => tls?.[field] ?? []),
  )
  return [...new Set(named)]
}

/** The section with every path as `place` gives it: relative ones are beside the configuration. */
export function placeTlsFiles(section: Section, place: (path: string) => string): Section {
  const placed = <T extends { readonly tls?: Tls | undefined }>(holder: T): T => {
    const { tls } = holder
    if (tls === undefined) return holder
    const paths = FIELDS.flatMap((field) => {
      const path = tls[field]
      return path === undefined ? [] : [[field, place(path)] as const]
    })
    return { ...holder, tls: { ...tls, ...Object.fromEntries(paths) } }
  }
  return placed({ ...section, upstreams: section.upstreams.map(placed) })
}

/** Changes with the content of the files, so that connections with old files are not reused. */
export function tlsDigest(tls: Tls | undefined, readText: ReadText): string {
  const held = FIELDS.map((field) => {
    const path = tls?.[field]
    if (path === undefined) return null
    try {
      return readText(path)
    } catch {
      return null
    }
  })
  return hash('sha256', JSON.stringify(held))
}

function judge(tls: Tls, path: Path, readText: ReadText): Finding[] {
  const findings: Finding[] = []
  function read<T>(field: TlsField, parse: (text: string) => T): T | undefined {
    const file = tls[field]
    if (file === undefined) return undefined
    const where = [...path, field]
    let text: string
    try {
      text = readText(file)
    } catch (error) {
      const fix = 'Correct the path, or let the gateway read the file.'
      findings.push(refuse(where, `${file} cannot be read (${codeOf(error)})`, fix))
      return undefined
    }
    try {
      return parse(text)
    } catch (error) {
      const message = `${file} ${error instanceof Error ? error.message : 'cannot be used'}`
      findings.push(refuse(where, message, FIXES[field]))
      return undefined
    }
  }
  read('ca_bundle_path', certificatesOf)
  const leaf = read('client_cert_path', certificatesOf)?.[0]
  const key = read('client_key_path', keyOf)
  if (leaf !== undefined && key !== undefined && !leaf.checkPrivateKey(key)) {
    const where = [...path, 'client_key_path']
    const message = `${tls.client_key_path} is not the key of ${tls.client_cert_path}`
    findings.push(refuse(where, message, 'Name the key that the certificate was made for.'))
  }
  return findings
}

const FIXES: Readonly<Record<TlsField, string>> = {
  ca_bundle_path: 'Name a file of certificates in PEM form, as "BEGIN CERTIFICATE" begins them.',
  client_cert_path: 'Name a PEM file with the certificate, followed by its intermediate ones.',
  client_key_path: 'Name a PEM file with the private key, without a passphrase.',
}

export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}
