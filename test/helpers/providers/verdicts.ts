/** The checks of conformance on a provider's results for its fixtures. */

import assert from 'node:assert/strict'
import type { Json } from '../../../dataplane/json/values.ts'
import type { Provider, ProviderSettings } from '../../../dataplane/wire/provider.ts'
import { someSettings } from './a-request.ts'

export const AUTHENTICATION = [
  'authorization',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'x-amz-security-token',
]
export const HEADERS = [
  'content-type',
  'accept',
  'accept-encoding',
  'anthropic-version',
  ...AUTHENTICATION,
]

/** Names of every object's members, and objects that cannot become texts or numbers. */
export const HOSTILE = [
  'constructor',
  '__proto__',
  'toString',
  { toString: null, valueOf: null },
  [[]],
  -1,
]

/** The JSON texts in which one member, at any depth, has another value. */
export function variants(json: unknown, value: unknown): string[] {
  if (typeof json !== 'object' || json === null) return [JSON.stringify(value)]
  return Object.entries(json).flatMap(([name, member]) =>
    variants(member, value)
      .concat(JSON.stringify(value))
      .map((text) => JSON.stringify({ ...json, [name]: JSON.parse(text) }))
      .map((text) =>
        Array.isArray(json) ? JSON.stringify(Object.values(JSON.parse(text))) : text,
      ),
  )
}

export function assertHolds(
  actual: object | undefined,
  expected: Json | undefined,
  title: string,
): void {
  assert.ok(actual && expected, `${title}: ${JSON.stringify(actual)}`)
  assert.deepEqual({ ...actual, ...expected }, { ...actual }, title)
}

export function usageOf(usage: Json | undefined): object | undefined {
  const none = { promptTokens: 0, completionTokens: 0, cachedTokens: 0, reasoningTokens: 0 }
  return usage && { ...none, estimated: false, ...usage }
}

/** A word in members of a request that providers need not handle. */
export const CANARY = 'canary-4711'

interface Written {
  readonly path: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: unknown
}

/** Our credential is only in one header, and nothing of the client's is forwarded. */
export function assertTrusted(
  { credentialHeader = 'authorization' }: Provider,
  write: (settings: ProviderSettings) => Written,
): void {
  const secret = someSettings().credential
  const { path, headers, body } = write(someSettings())
  assert.match(path, /^\//)
  assert.equal(JSON.stringify([path, headers, String(body)]).includes(CANARY), false)
  assert.equal(path.includes(secret) || String(body).includes(secret), false)
  const names = Object.keys(headers)
  assert.deepEqual(
    names.filter((name) => headers[name]?.includes(secret)),
    [credentialHeader],
  )
  assert.deepEqual(
    names.filter((name) => !HEADERS.includes(name)),
    [],
  )
  const bare = write(someSettings({ credential: '' }))
  assert.equal(
    AUTHENTICATION.some((name) => name in bare.headers),
    false,
  )
}
