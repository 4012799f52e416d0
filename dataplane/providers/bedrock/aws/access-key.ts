/** An access key as one text: `ID:SECRET`, or `ID:SECRET:TOKEN` with a session. */

export interface AccessKey {
  readonly id: string
  readonly secret: string
  /** Empty for a permanent key. */
  readonly token: string
  /** The key's region, if neither the settings nor the endpoint name one; else empty. */
  readonly region: string
}

/** No Bedrock API key contains a colon. */
const JOINED = /^([A-Z0-9]{16,128}):([^\s:]{16,256})(?::([^\s:]*))?(?::([a-z0-9-]*))?$/

export function joined({ id, secret, token, region }: AccessKey): string {
  return [id, secret, token, region].join(':')
}

/** undefined for an API key, which is sent unchanged. */
export function accessKeyIn(credential: string): AccessKey | undefined {
  const [, id, secret, token = '', region = ''] = JOINED.exec(credential) ?? []
  return id === undefined || secret === undefined ? undefined : { id, secret, token, region }
}
