/** The bytes of a log file, including those written later. */
import { type FileHandle, open, stat } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'

const LOOK_MS = 300
const PIECE_BYTES = 65_536

export interface FilePart {
  readonly from?: number
  readonly to?: number
}

/** A part of the file in its present state. */
export async function* bytesOf(path: string, part: FilePart = {}): AsyncGenerator<Uint8Array> {
  const { to = Number.POSITIVE_INFINITY } = part
  const file = await open(path)
  try {
    for (let offset = part.from ?? 0; offset < to; ) {
      const piece = (await pieceAt(file, offset)).subarray(0, to - offset)
      if (piece.length === 0) return
      offset += piece.length
      yield piece
    }
  } finally {
    await file.close()
  }
}

/** The end of the last complete line. */
export async function endOfLines(path: string): Promise<number> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    const start = Math.max(0, size - PIECE_BYTES)
    const end = Buffer.from(await pieceAt(file, start)).lastIndexOf('\n')
    return end < 0 ? size : start + end + 1
  } finally {
    await file.close()
  }
}

/** Everything written after an offset, until the signal, through rotation and truncation. */
export async function* newBytesOf(
  path: string,
  from: number,
  until: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let file = await open(path)
  let offset = from
  try {
    while (!until.aborted) {
      const piece = await pieceAt(file, offset)
      offset += piece.length
      if (piece.length > 0) {
        yield piece
        continue
      }
      await delay(LOOK_MS, undefined, { signal: until }).catch(() => undefined)
      const next = await replaced(file, { path, offset })
      if (next === undefined) continue
      if (next !== file) await file.close()
      file = next
      offset = 0
    }
  } finally {
    await file.close()
  }
}

async function pieceAt(file: FileHandle, position: number): Promise<Uint8Array> {
  const { buffer, bytesRead } = await file.read({
    buffer: Buffer.alloc(PIECE_BYTES),
    position,
  })
  return buffer.subarray(0, bytesRead)
}

/** The file to read from its beginning, if the log was rotated or truncated. */
async function replaced(
  file: FileHandle,
  { path, offset }: { readonly path: string; readonly offset: number },
): Promise<FileHandle | undefined> {
  const [here, there] = await Promise.all([file.stat(), stat(path).catch(() => undefined)])
  if (there === undefined) return undefined
  if (there.ino !== here.ino) return await open(path)
  return here.size < offset ? file : undefined
}
