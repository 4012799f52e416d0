/** Ways in which a request to the real gateway ends early. */
import assert from 'node:assert/strict'
import { until } from '../../helpers/until.ts'
import type { RawSocket } from '../hostile/raw-socket.ts'
import type { Deed } from './provider.ts'
import type { Rig } from './rig.ts'
import type { Manner } from './speech.ts'

export interface ExitPath {
  readonly name: string
  /** The primary made no mistake, so its breaker may count no failure. */
  readonly blameless: boolean
  readonly walk: (rig: Rig) => Promise<void>
}

const STREAM = { stream: true }
const ENDLESS: Deed = { does: 'answer', manner: { endlessMs: 10 } }

/** A request that the primary received, and how the primary treats it. */
async function asked(
  rig: Rig,
  deed: Deed,
  more: object = STREAM,
  route = 'chat',
): Promise<RawSocket> {
  const primary = rig.service('primary')
  primary.forget()
  primary.deed = () => deed
  const socket = rig.open(rig.bytes(route, { ...more }))
  await until('the primary is asked', () => primary.asked.length > 0)
  return socket
}

async function hearing(socket: RawSocket, text: string): Promise<void> {
  assert.ok(await socket.until(() => socket.heard.includes(text)), `never heard ${text}`)
}

function leaving(name: string, walk: (rig: Rig) => Promise<RawSocket>): ExitPath[] {
  return (['leave', 'reset', 'sendEnd'] as const).map((way) => ({
    name: `${name} (${way === 'sendEnd' ? 'half-close' : way})`,
    blameless: true,
    walk: async (rig) => (await walk(rig))[way](),
  }))
}

/**
 * The upstream breaks off; the client gets the error event of a cut stream, or the fallback's
 * answer.
 */
function breaking(what: string, deed: Deed, heard: string): ExitPath {
  return {
    name: `the upstream ${what}`,
    blameless: false,
    async walk(rig) {
      const socket = await asked(rig, deed)
      await hearing(socket, heard)
      socket.leave()
    },
  }
}

function cutBy(by: NonNullable<Manner['cutBy']>): Deed {
  return { does: 'answer', manner: { cutAfter: 5, cutBy: by } }
}

const ABORTED = 'ERR_GW_STREAM_ABORTED'
const ANSWERED = 'data: [DONE]'

export const EXIT_PATHS: readonly ExitPath[] = [
  ...leaving('the client leaves in its body', async (rig) => {
    const socket = rig.open(rig.bytes('chat').slice(0, -10))
    await until('it is sent', () => socket.drained)
    return socket
  }),
  ...leaving('before the head of the answer', (rig) => asked(rig, { does: 'silence' })),
  ...leaving('before an answer that is no stream', (rig) => asked(rig, { does: 'silence' }, {})),
  ...leaving('before the first event', (rig) =>
    asked(rig, { does: 'answer', manner: { slowMs: 1000 } }),
  ),
  ...leaving('in the middle of the stream', async (rig) => {
    const socket = await asked(rig, ENDLESS)
    await hearing(socket, '"word "')
    return socket
  }),
  {
    name: 'during the fallback',
    blameless: false,
    async walk(rig) {
      const fallback = rig.service('fallback')
      fallback.forget()
      fallback.deed = () => ({ does: 'silence' })
      const socket = await asked(rig, { does: 'refuse', status: 401, code: 'invalid_api_key' })
      await until('the fallback is asked', () => fallback.asked.length === 1)
      socket.leave()
      await rig.atRest()
      fallback.deed = () => ({ does: 'answer' })
    },
  },
  {
    name: 'in the wait before a repeat',
    blameless: true,
    async walk(rig) {
      const deed = { does: 'refuse', status: 429, code: 'slow_down', retryAfterSeconds: 2 } as const
      let isInTime = false
      // A client that disconnects too late finds the request already retried, and tries again.
      while (!isInTime) {
        const began = performance.now()
        const socket = await asked(rig, deed)
        socket.leave()
        isInTime = performance.now() - began < 1000
        await rig.atRest()
      }
      assert.equal(rig.service('primary').asked.length, 1)
    },
  },
  breaking('resets before its head', { does: 'reset' }, ANSWERED),
  breaking('hangs up before its head', { does: 'hang_up' }, ANSWERED),
  breaking('says what is no HTTP', { does: 'garbage' }, ANSWERED),
  breaking('is silent', { does: 'silence' }, ANSWERED),
  breaking('closes its stream', cutBy('close'), ABORTED),
  breaking('resets its stream', cutBy('reset'), ABORTED),
  breaking('closes in the middle of an event', cutBy('middle_of_event'), ABORTED),
  breaking('goes on in what is no chunk', cutBy('garbage'), ABORTED),
  breaking('tells an error in its stream', cutBy('error_event'), ABORTED),
  breaking('stalls', { does: 'answer', manner: { stallAfter: 5 } }, ABORTED),
  {
    name: 'the time of the request is up in a stream',
    blameless: true,
    walk: async (rig) => hearing(await asked(rig, ENDLESS, STREAM, 'brief'), ABORTED),
  },
  {
    name: 'the time of the request is up before an answer',
    blameless: false,
    async walk(rig) {
      const primary = rig.service('primary')
      primary.deed = () => ({ does: 'silence' })
      const fallback = rig.service('fallback')
      fallback.forget()
      const socket = rig.open(rig.bytes('hasty'))
      await hearing(socket, 'ERR_GW_PROXY_TIMEOUT')
      assert.equal(fallback.asked.length, 0, 'no upstream is asked when the time is up')
    },
  },
  {
    name: 'a chunked body turns out to be malformed',
    blameless: true,
    async walk(rig) {
      const primary = rig.service('primary')
      primary.forget()
      const head = rig.bytes('chat').split('\r\n\r\n')[0] ?? ''
      const chunked = head.replace(/Content-Length: \d+/, 'Transfer-Encoding: chunked')
      const socket = rig.open(`${chunked}\r\n\r\n10\r\n{"model":"chat",\r\nzz\r\n`)
      assert.ok(await socket.closes())
      assert.match(socket.heard, /^HTTP\/1\.1 400 /)
      assert.equal(primary.asked.length, 0)
    },
  },
]
