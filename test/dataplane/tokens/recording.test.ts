/** How many tokens a recording counts, by its head: its content decides how long it plays, not its declared rate. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordingTokens } from '../../../dataplane/apis/transcription/recording.ts'

const PCM = 1
const EXTENSIBLE = 0xfffe
const SECONDS = 10
const TOKENS = SECONDS * 10

interface Head {
  readonly format?: number
  readonly rate?: number
  readonly channels?: number
  readonly bits?: number
  /** The bytes of a second, in the head. */
  readonly said?: number
  /** The format in the extension. */
  readonly inner?: number
}

function wave(head: Head, bytes: number): Buffer {
  const { format = PCM, rate = 16_000, channels = 1, bits = 16, said, inner } = head
  const all = Buffer.alloc(bytes)
  all.write('RIFF', 0, 'latin1')
  all.write('WAVEfmt ', 8, 'latin1')
  all.writeUInt32LE(40, 16)
  all.writeUInt16LE(format, 20)
  all.writeUInt16LE(channels, 22)
  all.writeUInt32LE(rate, 24)
  all.writeUInt32LE(said ?? (rate * channels * bits) / 8, 28)
  all.writeUInt16LE(bits, 34)
  if (inner !== undefined) all.writeUInt16LE(inner, 44)
  return all
}

const PLAIN: readonly [what: string, head: Head, perSecond: number][] = [
  ['mono of 16 kHz', {}, 32_000],
  ['stereo of 44.1 kHz', { rate: 44_100, channels: 2 }, 176_400],
  ['a telephone', { format: 7, rate: 8000, bits: 8 }, 8000],
  ['floats', { format: 3, bits: 32 }, 64_000],
  ['an extended head', { format: EXTENSIBLE, inner: PCM }, 32_000],
]

for (const [what, head, perSecond] of PLAIN) {
  test(`${what}: a wrong byte rate in the head changes nothing`, () => {
    for (const said of [undefined, 0, 1, 192_000, 0xffff_ffff]) {
      const tokens = recordingTokens(
        wave({ ...head, said: said ?? perSecond }, perSecond * SECONDS),
      )
      assert.equal(tokens, TOKENS, `${said}`)
    }
  })
}

test('compressed sound in a WAV file counts like compressed sound', () => {
  for (const head of [
    { format: 0x55 },
    { format: 2, bits: 4 },
    { format: EXTENSIBLE, inner: 0x55 },
    { bits: 0x4000 },
    { bits: 12 },
    { bits: 0 },
    { channels: 0 },
    { rate: 0 },
  ])
    assert.equal(
      recordingTokens(wave({ said: 192_000, ...head }, 40_000)),
      TOKENS,
      JSON.stringify(head),
    )
})

test('an incomplete head is not a head', () => {
  const whole = wave({ format: EXTENSIBLE, inner: PCM }, 46)
  for (let length = 0; length <= whole.length; length++)
    assert.ok(recordingTokens(whole.subarray(0, length)) <= 1)
})
