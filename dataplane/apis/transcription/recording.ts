/** The longest duration of a recording, judged by its bytes. */
import { tokensOf } from '../../providers/transcription/seconds.ts'

/** 32 kbit/s: few recordings of speech are smaller. */
const BYTES_PER_SECOND = 4_000
/** Two channels of 16 bits at 48 kHz: a header with larger values would make a recording look short. */
const WAVE_BYTES_PER_SECOND_MAX = 192_000

/** The positions in a WAV header whose format comes first. */
const AT = { format: 20, channels: 22, rate: 24, bits: 34, inner: 44 }
const HEAD_BYTES = 46

/** Uncompressed sound: PCM, floats, and the two telephone encodings. */
const PLAIN_FORMATS = new Set([1, 3, 6, 7])
const EXTENSIBLE = 0xfffe
const PLAIN_BITS = new Set([8, 16, 24, 32, 64])

/** The tokens to reserve, and to charge if the upstream reports none. */
export function recordingTokens(bytes: Buffer): number {
  return tokensOf(bytes.length / bytesPerSecond(bytes))
}

/**
 * The header of uncompressed sound shows how to play it. The byte rate in the header is redundant and may be wrong,
 * so it is not used.
 */
function bytesPerSecond(bytes: Buffer): number {
  const isWave = bytes.length > HEAD_BYTES && bytes.toString('latin1', 0, 4) === 'RIFF'
  if (!isWave || bytes.toString('latin1', 8, 16) !== 'WAVEfmt ') return BYTES_PER_SECOND
  const named = bytes.readUInt16LE(AT.format)
  const format = named === EXTENSIBLE ? bytes.readUInt16LE(AT.inner) : named
  const bits = bytes.readUInt16LE(AT.bits)
  if (!PLAIN_FORMATS.has(format) || !PLAIN_BITS.has(bits)) return BYTES_PER_SECOND
  const rate = (bytes.readUInt32LE(AT.rate) * bytes.readUInt16LE(AT.channels) * bits) / 8
  return Math.min(Math.max(rate, BYTES_PER_SECOND), WAVE_BYTES_PER_SECOND_MAX)
}
