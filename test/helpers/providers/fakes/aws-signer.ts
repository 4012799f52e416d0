/** AWS's signer of requests, for checking them: the required parts of a request, by the vendor's code. */
import { createHash, createHmac } from 'node:crypto'
import { SignatureV4 } from '@smithy/signature-v4'

export interface SignedRequest {
  readonly method: string
  readonly host: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  readonly wallMs: number
}

export interface SigningKey {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

/** A hash in the signer's form, with or without a key. */
class Sha256 {
  readonly #hash

  constructor(key?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash = key === undefined ? createHash('sha256') : createHmac('sha256', bytesOf(key))
  }

  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.#hash.update(bytesOf(data))
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest()
  }
}

/** The headers of the request with those that prove it. */
export async function signedByAws(
  { method, host, path, headers, body, wallMs }: SignedRequest,
  region: string,
  credentials: SigningKey,
): Promise<Readonly<Record<string, string>>> {
  const signer = new SignatureV4({ credentials, region, service: 'bedrock', sha256: Sha256 })
  const [hostname = '', port] = host.split(':')
  const request = {
    method,
    protocol: 'https:',
    hostname,
    ...(port !== undefined && { port: Number(port) }),
    path,
    query: {},
    headers: { ...headers, host },
    body,
  }
  const signed = await signer.sign(request, { signingDate: new Date(wallMs) })
  return signed.headers
}

function bytesOf(data: string | ArrayBuffer | ArrayBufferView): Buffer {
  if (typeof data === 'string') return Buffer.from(data)
  if (data instanceof ArrayBuffer) return Buffer.from(data)
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength)
}
