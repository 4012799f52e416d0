/** AWS Signature Version 4 of a request in its final form. */
import { createHash, createHmac, hash } from 'node:crypto'
import type { FinalRequest, Headers } from '../../../wire/provider.ts'
import type { AccessKey } from './access-key.ts'
import { segmentOf } from './endpoint.ts'

const ALGORITHM = 'AWS4-HMAC-SHA256'
const SERVICE = 'bedrock'

/** Signs requests for one key and region. */
export class Signer {
  readonly #key: AccessKey
  readonly #region: string
  #day = ''
  #dayKey: Buffer = Buffer.alloc(0)

  constructor(key: AccessKey, region: string) {
    this.#key = key
    this.#region = region
  }

  sign({ method, origin, path, headers, body, rest, wallMs }: FinalRequest): Headers {
    const { id, token } = this.#key
    const moment = momentOf(wallMs)
    const digest = rest === undefined ? hash('sha256', body, 'hex') : hashOf([body, ...rest])
    // In the order of their names, as in the signature's list.
    const signed = [
      ['content-type', headers['content-type'] ?? ''],
      ['host', new URL(origin).host],
      ['x-amz-content-sha256', digest],
      ['x-amz-date', moment],
      ...(token === '' ? [] : [['x-amz-security-token', token]]),
    ]
    const names = signed.map(([name]) => name).join(';')
    const lines = signed.map(([name, value]) => `${name}:${value}\n`).join('')
    const canonical = `${method}\n${canonicalPath(path)}\n\n${lines}\n${names}\n${digest}`
    const scope = `${moment.slice(0, 8)}/${this.#region}/${SERVICE}/aws4_request`
    const text = `${ALGORITHM}\n${moment}\n${scope}\n${hash('sha256', canonical, 'hex')}`
    const signature = createHmac('sha256', this.#keyOf(moment.slice(0, 8)))
      .update(text)
      .digest('hex')
    return {
      'x-amz-content-sha256': digest,
      'x-amz-date': moment,
      ...(token !== '' && { 'x-amz-security-token': token }),
      authorization: `${ALGORITHM} Credential=${id}/${scope}, SignedHeaders=${names}, Signature=${signature}`,
    }
  }

  /**
   * Cached for its day. test/bench/micro/sign-request.ts: 10 us for a signature, 24 us if the key is derived each
   * time.
   */
  #keyOf(day: string): Buffer {
    if (day !== this.#day) {
      this.#dayKey = [day, this.#region, SERVICE, 'aws4_request'].reduce(
        (key: Buffer, part) => createHmac('sha256', key).update(part).digest(),
        Buffer.from(`AWS4${this.#key.secret}`),
      )
      this.#day = day
    }
    return this.#dayKey
  }
}

/** `20260102T030405Z` */
function momentOf(wallMs: number): string {
  return new Date(wallMs).toISOString().replace(/[-:]|\.\d+/g, '')
}

/** Every segment is encoded once more than on the request line. */
function canonicalPath(path: string): string {
  return path.split('/').map(segmentOf).join('/')
}

function hashOf(pages: readonly Buffer[]): string {
  const digest = createHash('sha256')
  for (const page of pages) digest.update(page)
  return digest.digest('hex')
}
