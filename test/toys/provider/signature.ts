/** The toy's signature: over method, final path, moment and body, with the credential as the key. */
import { createHmac } from 'node:crypto'

export interface Signed {
  readonly method: string
  readonly path: string
  readonly moment: string
  readonly body: Buffer
}

export function signatureOf({ method, path, moment, body }: Signed, credential: string): string {
  const text = `${method}\n${path}\n${moment}\n`
  return createHmac('sha256', credential).update(text).update(body).digest('hex')
}
