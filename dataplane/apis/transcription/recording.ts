/** How long a recording may last, by its bytes alone. */
import { tokensOf } from '../../providers/transcription/seconds.ts'

/** 32 kbit/s: speech is rarely packed more tightly. */
const BYTES_PER_SECOND = 4_000
/** A header that names more bytes for a second would make a recording look short. */
const WAVE_BYTES_PER_SECOND_MAX = 192_000
const WAVE_HEAD_BYTES = 44
const WAVE_RATE_AT = 28

/** The tokens of it as they are reserved, and charged where the upstream says nothing. */
export function recordingTokens(bytes: Buffer): number {
  return tokensOf(bytes.length / bytesPerSecond(bytes))
}

/** Sound that is not packed says its rate in its head. */
function bytesPerSecond(bytes: Buffer): number {
  const isWave = bytes.length > WAVE_HEAD_BYTES && bytes.toString('latin1', 0, 4) === 'RIFF'
  if (!isWave || bytes.toString('latin1', 8, 16) !== 'WAVEfmt ') return BYTES_PER_SECOND
  const rate = bytes.readUInt32LE(WAVE_RATE_AT)
  return Math.min(Math.max(rate, BYTES_PER_SECOND), WAVE_BYTES_PER_SECOND_MAX)
}
