/**
 * `node test/bench/profile/allocations.ts [COLUMN]`: the bytes of objects that a request makes, by function. They do
 * not depend on the load of the machine, and collecting them is the largest cost of a request after system calls.
 */
import { once } from 'node:events'
import { freePort } from '../../helpers/free-port.ts'
import { failuresOf, runLoad } from '../load.ts'
import { columnNamed, type Profiled, withGateway } from './profiled.ts'

const SECONDS = 4
const SAMPLED_BYTES = 4_096
const FUNCTIONS = 40

interface Allocation {
  readonly callFrame: {
    readonly functionName: string
    readonly url: string
    readonly lineNumber: number
  }
  readonly selfSize: number
  readonly children: readonly Allocation[]
}

/** Young objects that die in the young generation cost little; these are copied twice, and then fill the old one. */
const KEPT = '--kept'
const [variant = 'governed', kept] = process.argv.slice(2)
const inspector = `127.0.0.1:${await freePort()}`
const flags = [`--inspect=${inspector}`]
const { head, requests } = await withGateway(columnNamed(variant), flags, measure)
const sums = new Map<string, number>()
sum(head)
const all = sums.values().reduce((one, other) => one + other, 0)
const rows = [...sums].toSorted(([, one], [, other]) => other - one).slice(0, FUNCTIONS)
console.log(`${requests} requests (${variant}), ${Math.round(all / requests)} bytes each.\n`)
console.log('| function, by itself | bytes a request |\n|---|---|')
for (const [name, bytes] of rows) console.log(`| ${name} | ${Math.round(bytes / requests)} |`)

function sum({ callFrame: { functionName, url, lineNumber }, selfSize, children }: Allocation) {
  const place = url === '' ? '' : ` ${url.split('/').slice(-2).join('/')}:${lineNumber + 1}`
  const name = `${functionName || '(anonymous)'}${place}`
  sums.set(name, (sums.get(name) ?? 0) + selfSize)
  for (const child of children) sum(child)
}

async function measure({ load: target }: Profiled) {
  const options = { ...target, seconds: SECONDS }
  // Compiled code serves, as in production, and it makes fewer objects.
  await runLoad(options)
  const { ask, close } = await askingInspector()
  await ask('HeapProfiler.startSampling', {
    samplingInterval: SAMPLED_BYTES,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: kept !== KEPT,
  })
  const load = await runLoad(options)
  if (failuresOf(load) > 0) throw new Error('Requests failed.')
  const { result } = await ask('HeapProfiler.stopSampling')
  close()
  return { requests: load.requests, head: result.profile.head }
}

interface Answer {
  readonly result: { readonly profile: { readonly head: Allocation } }
}

async function askingInspector() {
  const listed = await fetch(`http://${inspector}/json/list`)
  const [{ webSocketDebuggerUrl }] = (await listed.json()) as [{ webSocketDebuggerUrl: string }]
  const socket = new WebSocket(webSocketDebuggerUrl)
  await once(socket, 'open')
  const ask = async (method: string, params: object = {}): Promise<Answer> => {
    const answered = once(socket, 'message')
    socket.send(JSON.stringify({ id: 1, method, params }))
    const [event] = await answered
    return JSON.parse(event.data)
  }
  return { ask, close: () => socket.close() }
}
