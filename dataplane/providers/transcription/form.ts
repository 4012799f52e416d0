/** Writes a client's form for an upstream: its values as they came, between heads that every server reads alike. */
import type { Form, FormPart } from '../../body/form.ts'

/** Other texts by name: undefined leaves a part out; names that the form lacks are added. */
export type FormEdits = ReadonlyMap<string, string | undefined>

export function writeForm(bytes: Buffer, { boundary, parts }: Form, edits: FormEdits): Buffer {
  const pieces: (Buffer | string)[] = []
  const add = (part: Pick<FormPart, 'name' | 'filename' | 'type'>, value: Buffer | string) =>
    pieces.push(headOf(boundary, part), value, '\r\n')
  for (const part of parts) {
    const { name, start, end } = part
    if (!edits.has(name)) add(part, bytes.subarray(start, end))
    const text = edits.get(name)
    if (text !== undefined) add({ name }, text)
  }
  const names = new Set(parts.map(({ name }) => name))
  for (const [name, text] of edits) if (text !== undefined && !names.has(name)) add({ name }, text)
  pieces.push(`--${boundary}--\r\n`)
  return Buffer.concat(
    pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece)),
  )
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
