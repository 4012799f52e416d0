/**
 * The tokens of a picture by the published rule of tiles: scaled into a square, then to a shortest side, then split.
 */

const BASE_TOKENS = 85
const TILE_TOKENS = 170
const TILE_SIDE = 512
const SQUARE_SIDE = 2048
const SHORTEST_SIDE = 768
/** A picture of unknown size has at most the tiles of the longest possible picture after scaling. */
const TILES_MAX = 8
/** Base64 characters in which the size of a picture is searched. */
const HEAD_LENGTH_MAX = 65_536

interface Size {
  readonly width: number
  readonly height: number
}

export function imageTokens(url: string, isLow: boolean): number {
  if (isLow) return BASE_TOKENS
  const size = sizeOf(url)
  return BASE_TOKENS + TILE_TOKENS * (size === undefined ? TILES_MAX : tilesOf(size))
}

export function tilesOf({ width, height }: Size): number {
  const intoSquare = Math.min(1, SQUARE_SIDE / Math.max(width, height))
  const toShortest = Math.min(1, SHORTEST_SIDE / (Math.min(width, height) * intoSquare))
  const along = (side: number) =>
    Math.max(1, Math.ceil((side * intoSquare * toShortest) / TILE_SIDE))
  return along(width) * along(height)
}

/** The size of a picture in the request; undefined for a picture by address, and for other formats. */
function sizeOf(url: string): Size | undefined {
  const [, start] = /^data:[^,]{0,100};base64,/d.exec(url)?.indices?.[0] ?? []
  if (start === undefined) return undefined
  const bytes = Buffer.from(url.slice(start, start + HEAD_LENGTH_MAX), 'base64')
  const size = pngSize(bytes) ?? gifSize(bytes) ?? jpegSize(bytes)
  return size !== undefined && size.width > 0 && size.height > 0 ? size : undefined
}

function pngSize(bytes: Buffer): Size | undefined {
  if (bytes.length < 24 || bytes.toString('latin1', 1, 4) !== 'PNG') return undefined
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
}

function gifSize(bytes: Buffer): Size | undefined {
  if (bytes.length < 10 || bytes.toString('latin1', 0, 3) !== 'GIF') return undefined
  return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
}

/** The first segment that starts a frame has the size; earlier segments are skipped by their lengths. */
function jpegSize(bytes: Buffer): Size | undefined {
  if (bytes.length < 4 || bytes.readUInt16BE(0) !== 0xffd8) return undefined
  let at = 2
  while (at + 9 <= bytes.length && bytes[at] === 0xff) {
    const marker = bytes[at + 1] ?? 0
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
    if (isFrame) return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) }
    at += 2 + Math.max(2, bytes.readUInt16BE(at + 2))
  }
  return undefined
}
