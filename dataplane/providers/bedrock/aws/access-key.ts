/** An access key as the one text that a credential is: `ID:SECRET`, and with a session `ID:SECRET:TOKEN`. */

export interface AccessKey {
  readonly id: string
  readonly secret: string
  /** Empty for a key that lasts. */
  readonly token: string
  /** The region that goes with it where neither the settings nor the endpoint name one; else empty. */
  readonly region: string
}

/** No API key of Bedrock has a colon. */
const JOINED = /^([A-Z0-9]{16,128}):([^\s:]{16,256})(?::([^\s:]*))?(?::([a-z0-9-]*))?$/

export function joined({ id, secret, token, region }: AccessKey): string {
  return [id, secret, token, region].join(':')
}

/** undefined for an API key, which is sent as it is. */
export function accessKeyIn(credential: string): AccessKey | undefined {
  const [, id, secret, token = '', region = ''] = JOINED.exec(credential) ?? []
  return id === undefined || secret === undefined ? undefined : { id, secret, token, region }
}
