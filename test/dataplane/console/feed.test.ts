/** The stream of samples: made once for all viewers, and not at all while there is no viewer. */
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { Feed, VIEWERS_MAX } from '../../../dataplane/console/feed.ts'

function aViewer() {
  const written: string[] = []
  const listeners = new Map<string, () => void>()
  const close = () => listeners.get('close')?.()
  const viewer = {
    status: 0,
    written,
    writableLength: 0,
    close,
    writeHead(status: number) {
      viewer.status = status
    },
    write: (text: string) => written.push(text),
    end: close,
    destroy: close,
    on: (event: string, listener: () => void) => void listeners.set(event, listener),
  }
  return viewer
}

function aFeed(t: TestContext, sample: () => unknown = () => ({ ok: true })) {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const made = { samples: 0, isEnding: false }
  const feed = new Feed({
    sample() {
      made.samples++
      return sample()
    },
    isEnding: () => made.isEnding,
  })
  const join = () => {
    const viewer = aViewer()
    // A feed uses only these members.
    feed.join(viewer as unknown as ServerResponse)
    return viewer
  }
  const second = async () => {
    // A sample is sent one turn after its request.
    await new Promise(setImmediate)
    t.mock.timers.tick(1000)
    await new Promise(setImmediate)
  }
  return { feed, made, join, second }
}

test('one sample a second serves all, and without a viewer no sample is made', async (t) => {
  const { feed, made, join, second } = aFeed(t)
  await second()
  assert.equal(made.samples, 0)
  const [one, two] = [join(), join()]
  await second()
  assert.equal(made.samples, 2)
  assert.equal(one.written.at(-1), 'id: 2\ndata: {"ok":true}\n\n')
  assert.equal(two.written.at(-1), one.written.at(-1))
  one.close()
  two.close()
  await second()
  assert.deepEqual([made.samples, feed.viewers], [2, 0])
})

test('a viewer that reads nothing has at most one waiting sample, is disconnected after a minute, and the others continue', async (t) => {
  const { feed, join, second } = aFeed(t)
  const [stalled, live] = [join(), join()]
  await second()
  stalled.writableLength = 40
  const before = stalled.written.length
  for (let seconds = 0; seconds < 61; seconds++) await second()
  assert.equal(stalled.written.length, before)
  assert.equal(feed.viewers, 1)
  assert.equal(live.written.at(-1), 'id: 63\ndata: {"ok":true}\n\n')
})

test('a viewer that reads again gets the newest sample', async (t) => {
  const { join, second } = aFeed(t)
  const viewer = join()
  await second()
  viewer.writableLength = 40
  for (let seconds = 0; seconds < 30; seconds++) await second()
  viewer.writableLength = 0
  await second()
  assert.equal(viewer.written.at(-1), 'id: 33\ndata: {"ok":true}\n\n')
  viewer.writableLength = 40
  for (let seconds = 0; seconds < 59; seconds++) await second()
  viewer.writableLength = 0
  await second()
  assert.equal(viewer.written.at(-1), 'id: 93\ndata: {"ok":true}\n\n')
})

test('a slow sample delays the next one, and a failed one says why', async (t) => {
  const { made, join, second } = aFeed(t, () => new Promise(() => {}))
  const viewer = join()
  await second()
  assert.equal(made.samples, 1)
  assert.equal(viewer.written.at(-1), ': waiting\n\n')
})

test('a failed sample is a separate kind of event', async (t) => {
  const { join, second } = aFeed(t, () => {
    throw new Error('no store')
  })
  const viewer = join()
  await second()
  assert.equal(viewer.written.at(-1), 'event: failed\ndata: {"message":"no store"}\n\n')
})

test('a process that ends disconnects its viewers with a last sample, and takes no others', async (t) => {
  const { feed, made, join, second } = aFeed(t)
  const viewer = join()
  await second()
  made.isEnding = true
  await second()
  assert.match(String(viewer.written.at(-1)), /^id: 3/)
  assert.equal(feed.viewers, 0)
  assert.equal(join().status, 503)
})

test('at most twenty viewers fit', (t) => {
  const { join } = aFeed(t)
  const all = Array.from({ length: VIEWERS_MAX + 1 }, join)
  assert.deepEqual([all.at(-2)?.status, all.at(-1)?.status], [200, 503])
})
