/** The store equals the API server after every fault of lists and watches. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import type { ApiClient } from '../../operator/kube/api.ts'
import { RESOURCES } from '../../operator/kube/objects.ts'
import {
  Reflector,
  type ReflectorOptions,
  type Timings,
  type WatchEnd,
} from '../../operator/kube/watch/reflector.ts'
import { ObjectStore } from '../../operator/kube/watch/store.ts'
import { until } from '../helpers/until.ts'
import {
  anObject,
  lineOf,
  refuses,
  type ScriptedApi,
  says,
  startScriptedApi,
} from './scripted-api.ts'

let api: ScriptedApi
let reflector: Reflector
let store: ObjectStore
let endings: WatchEnd[]

const TIMINGS: Timings = {
  watchSeconds: 30,
  silenceMs: 300,
  listIntervalMs: 50,
  backoffMs: 10,
  backoffMsMax: 80,
  relistMs: 60_000,
}

beforeEach(async () => {
  api = await startScriptedApi()
})

afterEach(async () => {
  await reflector.stop()
  await api.stop()
})

function start(
  timings: Partial<Timings> = {},
  watched: (api: ApiClient) => void = () => {},
  more: Partial<ReflectorOptions> = {},
): void {
  const client = api.client()
  watched(client)
  store = new ObjectStore()
  endings = []
  reflector = new Reflector({
    api: client,
    resource: RESOURCES.configMaps,
    selection: { namespace: 'ns' },
    store,
    random: () => 0.5,
    onEnd: (ending) => endings.push(ending),
    timings: { ...TIMINGS, ...timings },
    ...more,
  })
  reflector.start()
}

function versionOf(name: string): string | undefined {
  return store.get(`ns/${name}`)?.metadata.resourceVersion
}

async function untilWatches(count: number): Promise<void> {
  await until(`${count} watches`, () => api.watches.length >= count)
}

test('a list and the watch after it fill the store', async () => {
  api.objects = [anObject('a', '90')]
  start()
  await reflector.synced
  assert.equal(versionOf('a'), '90')
  await untilWatches(1)
  assert.equal(api.watches[0]?.version, '100')
  api.send('ADDED', anObject('b', '101'))
  api.send('MODIFIED', anObject('a', '102'))
  await until('both are seen', () => versionOf('b') === '101' && versionOf('a') === '102')
  api.send('DELETED', anObject('b', '103'))
  await until('it is gone', () => versionOf('b') === undefined)
  assert.equal(api.lists.length, 1)
})

test('a watch that ends continues from the last version, including bookmarks', async () => {
  api.script.push((_request, response) => {
    response.writeHead(200)
    response.write(lineOf('ADDED', anObject('a', '105')))
    response.write(lineOf('BOOKMARK', { metadata: { resourceVersion: '110' } }))
    setTimeout(() => response.end(), 1100)
  })
  start()
  await untilWatches(2)
  assert.equal(api.watches[1]?.version, '110')
  assert.equal(api.lists.length, 1)
  assert.deepEqual(endings, ['end'])
})

test('a truncated event or one that is not JSON is never partly applied, and nothing is skipped', async () => {
  const cut = lineOf('ADDED', anObject('b', '107')).slice(0, 40)
  api.version = '106'
  api.script.push(says(`${lineOf('ADDED', anObject('a', '106'))}${cut}`, true))
  api.script.push(says('{"type":"ADDED","object":{"metadata"\n'))
  start()
  await untilWatches(3)
  assert.equal(versionOf('a'), '106')
  assert.equal(versionOf('b'), undefined)
  assert.equal(api.watches[1]?.version, '106')
  assert.equal(api.watches[2]?.version, '106')
  api.send('ADDED', anObject('b', '107'))
  await until('it came whole', () => versionOf('b') === '107')
})

test('a version that is too old causes a list, which contains the missed changes', async () => {
  api.objects = [anObject('a', '90'), anObject('b', '91')]
  const expired = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' }
  api.script.push(says(lineOf('ERROR', expired)))
  api.script.push(refuses(410, 'Expired'))
  start()
  await reflector.synced
  api.objects = [anObject('a', '190'), anObject('c', '191')]
  api.version = '200'
  await untilWatches(3)
  assert.equal(versionOf('a'), '190')
  assert.equal(versionOf('b'), undefined)
  assert.equal(versionOf('c'), '191')
  assert.equal(api.watches[2]?.version, '200')
})

test('many expired versions cause at most one list in the interval', async () => {
  for (let count = 0; count < 8; count++) api.script.push(refuses(410, 'Expired'))
  const startedAt = performance.now()
  const lists: number[] = []
  start({ listIntervalMs: 150 }, (client) => {
    const list = client.list.bind(client)
    client.list = (...asked) => {
      lists.push(performance.now())
      return list(...asked)
    }
  })
  await untilWatches(9)
  assert.ok(lists.length > 1)
  // On a busy machine one may leave late and the next in time, but all lists together still take
  // the intervals.
  for (const [index, at] of lists.entries()) {
    // Timers of Node may fire a millisecond early.
    assert.ok(at - startedAt > index * 149 - 1, `${index + 1} lists within ${at - startedAt} ms`)
  }
})

test('a silent watch is abandoned and replaced', async () => {
  api.script.push(says(''))
  start({ watchSeconds: 1, silenceMs: 200 })
  await untilWatches(2)
  // It ends after a second; an event between two watches would be missed.
  await until('a later watch sends it', () => {
    api.send('ADDED', anObject('a', '101'))
    return versionOf('a') === '101'
  })
  assert.equal(endings[0], 'silence')
})

test('a busy server is retried at the time that it names', async () => {
  api.script.push(refuses(429, 'TooManyRequests', { 'retry-after': '1' }))
  start()
  await untilWatches(2)
  const [first, second] = api.watches
  assert.ok((second?.at ?? 0) - (first?.at ?? 0) > 900)
})

test('a refused list is tried again', async () => {
  let refused = 0
  api.outage = (request, response) => {
    refused++
    if (refused === 3) api.outage = undefined
    refuses(500, 'InternalError')(request, response)
  }
  start()
  await reflector.synced
  assert.equal(refused, 3)
})

test('after the restore of an older state everything is listed again', async () => {
  api.objects = [anObject('a', '90')]
  api.script.push((request) => request.socket.destroy())
  start()
  await reflector.synced
  api.objects = [anObject('a', '40')]
  api.version = '50'
  await until('the old version is back', () => versionOf('a') === '40')
  await until('the watch continues from there', () => api.watches.at(-1)?.version === '50')
})

test('an event with an older version also means a restored state', async () => {
  api.objects = [anObject('a', '90')]
  api.script.push((request, response) => {
    api.objects = [anObject('a', '20')]
    api.version = '30'
    says(lineOf('MODIFIED', anObject('a', '20')))(request, response)
  })
  start()
  await until('it was listed again', () => versionOf('a') === '20')
  assert.equal(endings[0], 'went_back')
})

test('an unavailable server does not change the store, and later changes are applied', async () => {
  api.objects = [anObject('a', '90')]
  start()
  await untilWatches(1)
  api.outage = (request) => request.socket.destroy()
  api.script.length = 0
  const open = api.watches.length
  api.send('ERROR', { code: 500, reason: 'InternalError', message: 'going down' })
  await until('it notices', () => endings.length > 2)
  assert.equal(versionOf('a'), '90')
  api.outage = undefined
  await untilWatches(open + 1)
  api.send('MODIFIED', anObject('a', '120'))
  await until('the changes are applied', () => versionOf('a') === '120')
})

test('an object of the same name and another uid is another object', async () => {
  api.objects = [anObject('a', '90')]
  start()
  await untilWatches(1)
  const changes: string[] = []
  store.onChange((before, after) =>
    changes.push(`${before?.metadata.uid ?? '-'} > ${after?.metadata.uid ?? '-'}`),
  )
  const other = anObject('a', '130')
  api.send('MODIFIED', { ...other, metadata: { ...other.metadata, uid: 'another' } })
  await until('it is seen', () => changes.length === 2)
  assert.deepEqual(changes, ['uid-a > -', '- > another'])
})

test('a long list is read in pages, and its objects are kept trimmed', async () => {
  const names = ['a', 'b', 'c', 'd', 'e']
  api.objects = names.map((name) => anObject(name, '90', { large: 'x'.repeat(1000) }))
  start({}, undefined, { pageLength: 2, trim: ({ metadata }) => ({ metadata }) })
  await reflector.synced
  assert.deepEqual(
    store.list().map(({ metadata }) => metadata.name),
    names,
  )
  assert.equal(api.lists.length, 3)
  for (const object of store.list()) assert.deepEqual(Object.keys(object), ['metadata'])
})
