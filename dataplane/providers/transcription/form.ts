/** Writes a client's form for an upstream: unchanged values between headers that every server reads the same way. */
import type { Form, FormPart } from '../../base/form.ts'
import type { UpstreamRequest } from '../../wire/provider.ts'

/** Other texts by name: undefined omits a part; missing names are added. */
export type FormEdits = ReadonlyMap<string, string | undefined>

export function writeForm(
  bytes: Buffer,
  { boundary, parts }: Form,
  edits: FormEdits,
): Pick<UpstreamRequest, 'rest'> & { readonly body: Buffer } {
  const pieces = new Pieces()
  const add = (part: Pick<FormPart, 'name' | 'filename' | 'type'>, value: Buffer | string) => {
    pieces.add(headOf(boundary, part))
    pieces.add(value)
    pieces.add('\r\n')
  }
  for (const part of parts) {
    const { name, start, end } = part
    if (!edits.has(name)) add(part, bytes.subarray(start, end))
    const text = edits.get(name)
    if (text !== undefined) add({ name }, text)
  }
  const names = new Set(parts.map(({ name }) => name))
  for (const [name, text] of edits) if (text !== undefined && !names.has(name)) add({ name }, text)
  pieces.add(`--${boundary}--\r\n`)
  const [body = Buffer.alloc(0), ...rest] = pieces.end()
  return { body, rest }
}

/** Shorter values are copied, so that a form needs few writes. */
const COPIED_BYTES_MAX = 16_384

/** The pieces of a form. The recording is sent from the received bytes. */
class Pieces {
  readonly #all: Buffer[] = []
  #short: Buffer[] = []

  add(piece: Buffer | string): void {
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece
    if (bytes.length <= COPIED_BYTES_MAX) this.#short.push(bytes)
    else this.#all.push(this.#joined(), bytes)
  }

  end(): readonly Buffer[] {
    return [...this.#all, this.#joined()]
  }

  #joined(): Buffer {
    const joined = Buffer.concat(this.#short)
    this.#short = []
    return joined
  }
}

export function formType({ boundary }: Form): string {
  return `multipart/form-data; boundary=${/^[\w-]+$/.test(boundary) ? boundary : `"${boundary}"`}`
}

function headOf(
  boundary: string,
  { name, filename, type }: Pick<FormPart, 'name' | 'filename' | 'type'>,
): string {
  const file = filename === undefined ? '' : `; filename="${filename}"`
  const typed = type === undefined ? '' : `Content-Type: ${type}\r\n`
  return `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n${typed}\r\n`
}
