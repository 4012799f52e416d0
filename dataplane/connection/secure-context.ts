/** The settings of TLS connections: trust store, lowest version, client certificate. */
import { readFileSync } from 'node:fs'
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls'
import type { Tls } from '../config/tls-files.ts'

const MIN_VERSION = 'TLSv1.2'

export class TlsSettingsError extends Error {
  readonly code = 'ERR_TLS_SETTINGS'

  constructor(cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause)
    super(`the files of the tls section cannot be used: ${why}`)
  }
}

/**
 * A context costs 16 ms to make, and upstreams without their own `tls` share one section,
 * so it is made once for each section of a configuration; a new configuration has new sections.
 */
const CONTEXTS = new WeakMap<Tls, SecureContext>()

/** Throws a `TlsSettingsError` when a file cannot be used. */
export function secureContextOf(tls: Tls = {}): SecureContext {
  const made = CONTEXTS.get(tls) ?? createContext(tls)
  CONTEXTS.set(tls, made)
  return made
}

function createContext(tls: Tls): SecureContext {
  const { ca_bundle_path, client_cert_path, client_key_path, min_version } = tls
  try {
    return createSecureContext({
      minVersion: min_version ?? MIN_VERSION,
      ...(ca_bundle_path !== undefined && {
        ca: [...getCACertificates('default'), read(ca_bundle_path)],
      }),
      ...(client_cert_path !== undefined && { cert: read(client_cert_path) }),
      ...(client_key_path !== undefined && { key: read(client_key_path) }),
    })
  } catch (error) {
    throw new TlsSettingsError(error)
  }
}

function read(path: string): string {
  return readFileSync(path, 'utf8')
}
