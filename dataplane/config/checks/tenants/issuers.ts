/** Issuers of tokens and client certificates: their keys, and the tenant and routes that each caller gets. */
import { createPublicKey } from 'node:crypto'
import type { Section } from '../../../schema/index.ts'
import { type Finding, type Path, refuse } from '../../judgement/problems.ts'
import { at, type Check, type CheckContext, listed } from '../contract.ts'
import { unknownName } from '../names.ts'
import { modelsNamed } from './named-models.ts'

const PLACES = ['url', 'file', 'keys', 'kubernetes'] as const

const keysHaveOnePlace: Check = ({ auth }, { place }) =>
  auth.jwt.flatMap(({ jwks }, index) => {
    const path = at('auth', 'jwt', index, 'jwks')
    const named = PLACES.filter((one) => jwks[one] !== undefined)
    if (named.length !== 1) {
      const message = named.length === 0 ? 'is empty' : `has several places: ${listed(named)}`
      return [refuse(path, message, `Write one of: ${PLACES.join(', ')}.`)]
    }
    if (jwks.kubernetes === undefined || place === 'pod') return []
    const fix = 'Write url:, file: or keys:.'
    return [refuse([...path, 'kubernetes'], 'needs the operator, which delivers the keys', fix)]
  })

/** A key that cannot verify would make the gateway refuse every token that refers to it. */
const keysArePublic: Check = ({ auth }) =>
  auth.jwt.flatMap(({ jwks: { keys = [], kubernetes } }, index) =>
    keys.flatMap((key, entry) => {
      // The operator delivers the keys of the cluster unchanged; another check reports unresolved references.
      if (kubernetes || Object.values(key).some((text) => text.includes('${'))) return []
      const path = at('auth', 'jwt', index, 'jwks', 'keys', entry)
      const fix = 'Copy the entry from the key set of the issuer, as it is.'
      if ('d' in key) return [refuse(path, 'is a private key', fix)]
      return isPublicKey(key) ? [] : [refuse(path, 'is no public key of RSA, EC or OKP', fix)]
    }),
  )

function isPublicKey(key: Readonly<Record<string, string>>): boolean {
  try {
    createPublicKey({ key: { ...key }, format: 'jwk' })
    return true
  } catch {
    return false
  }
}

const tenantHasOnePlace: Check = ({ auth }) =>
  auth.jwt.flatMap(({ tenant: { name, claim, map } }, index) => {
    const path = at('auth', 'jwt', index, 'tenant')
    if (name === undefined && claim === undefined)
      return [refuse(path, 'is empty', 'Write name: for all tokens, or claim:.')]
    if (name !== undefined && (claim !== undefined || map !== undefined))
      return [refuse(path, 'has a name, so no claim is read', 'Keep name:, or claim: and map:.')]
    return []
  })

const issuerRoutesExist: Check = (section, context) => {
  const unknownAt = unknownRoutes(section, context)
  return section.auth.jwt.flatMap(({ routes = [], routes_from: from }, index) => {
    const path = at('auth', 'jwt', index)
    const mapped = Object.entries(from?.map ?? {}).flatMap(([value, list]) =>
      unknownAt([...path, 'routes_from', 'map', value], list),
    )
    const unknown = [...unknownAt([...path, 'routes'], routes), ...mapped]
    if (from === undefined || routes.length === 0) return unknown
    const message = 'cannot take effect: routes names them already'
    return [refuse([...path, 'routes_from'], message, 'Keep routes:, or routes_from:.'), ...unknown]
  })
}

const certificateRoutesExist: Check = (section, context) => {
  const unknownAt = unknownRoutes(section, context)
  return section.auth.certificates.flatMap(({ routes = [] }, index) =>
    unknownAt(at('auth', 'certificates', index, 'routes'), routes),
  )
}

function unknownRoutes(section: Section, { suggestions }: CheckContext) {
  const known = new Set(section.routes.map(({ name }) => name))
  const isModel = modelsNamed(section)
  return (path: Path, names: readonly string[]): Finding[] =>
    names.flatMap((name, entry) =>
      name === '*' || (!known.has(name) && isModel(name))
        ? []
        : unknownName(name, [...path, entry], 'route', { known, suggestions }),
    )
}

const certificatesAreAskedFor: Check = ({ auth, gateway }) => {
  if (auth.certificates.length === 0 || gateway.tls?.client_ca !== undefined) return []
  const message = 'cannot take effect: the listener asks for no certificate'
  const fix = 'Add gateway.tls with client_ca, the authorities of your clients, or remove it.'
  return [refuse(at('auth', 'certificates'), message, fix)]
}

export const issuerChecks = [
  keysHaveOnePlace,
  keysArePublic,
  tenantHasOnePlace,
  issuerRoutesExist,
  certificateRoutesExist,
  certificatesAreAskedFor,
]
