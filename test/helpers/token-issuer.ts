/** An issuer of tokens with its own keys, and its key set. */
import { exportJWK, generateKeyPair, SignJWT } from 'jose'

export const ISSUER = 'https://issuer.test'
export const NOW = Date.UTC(2026, 10, 21)

export interface SigningKey {
  readonly kid: string | undefined
  readonly alg: string
  readonly privateKey: CryptoKey
  readonly jwk: Record<string, unknown>
}

export async function aSigningKey(kid?: string, alg = 'ES256'): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  const jwk = {
    ...(await exportJWK(publicKey)),
    alg,
    use: 'sig',
    ...(kid !== undefined && { kid }),
  }
  return { kid, alg, privateKey, jwk }
}

export const keySetOf = (...keys: readonly SigningKey[]) =>
  JSON.stringify({ keys: keys.map(({ jwk }) => jwk) })

/** A valid token, with these claims changed; `undefined` omits one. Times in seconds from `now`. */
export function aToken(
  { kid, alg, privateKey }: SigningKey,
  claims: Readonly<Record<string, unknown>> = {},
  now = NOW,
): Promise<string> {
  const seconds = Math.floor(now / 1000)
  const usual = { iss: ISSUER, aud: 'gw', sub: 'alice', team: 'acme', exp: seconds + 600 }
  const all = Object.entries({ ...usual, ...claims }).filter(([, value]) => value !== undefined)
  const header = { alg, ...(kid !== undefined && { kid }) }
  return new SignJWT(Object.fromEntries(all)).setProtectedHeader(header).sign(privateKey)
}
