/**
 * The store for the processes of one machine: time of each script in its virtual machine, of a call over the socket,
 * of the start, and memory. Prints microseconds of the median, of the slowest percent, and of the sum by number.
 */

import { hash } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import { schedule, systemClock } from '../../../dataplane/base/clock.ts'
import { LuaVm } from '../../../dataplane/store/embedded/vm.ts'
import type { Link } from '../../../dataplane/store/redis/link.ts'
import { RedisStore } from '../../../dataplane/store/redis/store.ts'
import { startEmbedded } from '../../helpers/store/embedded-server.ts'
import { openOnSocket } from '../../helpers/store/socket-client.ts'
import { aBudget, aRule, tokens } from '../../helpers/store/world.ts'

const REQUESTS = 4_000
const SLICED_MS = 4_000
const RULES = aRule({
  tokensPerMinute: 1e9,
  budget: aBudget({ tokensPerDay: 1e12, nanosPerMonth: 9e15 }),
})

const rssBefore = process.memoryUsage().rss
const begun = performance.now()
const vm = await LuaVm.open()
console.log(`start ${(performance.now() - begun).toFixed(0)} ms`)

const times = new Map<string, number[]>()
const shas = new Set<string>()
const link: Link = {
  run({ name, lua }, keys, args) {
    const sha = hash('sha1', lua)
    const text = shas.has(sha) ? '' : lua
    shas.add(sha)
    const words = [...keys, ...args].map((word) => Buffer.from(String(word)))
    const from = performance.now()
    const [reply] = vm.call('run', [sha, text, keys.length, Date.now(), 0, ...words])
    times.set(name, [...(times.get(name)?.slice(-20_000) ?? []), 1000 * (performance.now() - from)])
    return Promise.resolve(parsed(String(reply).split('\r\n')))
  },
}

function parsed(lines: string[]): unknown {
  const line = lines.shift() ?? ''
  if (line.startsWith('*'))
    return Array.from({ length: Number(line.slice(1)) }, () => parsed(lines))
  if (line.startsWith(':')) return Number(line.slice(1))
  if (line.startsWith('-')) throw new Error(line)
  return lines.shift()
}

const options = { keyPrefix: 'gw', replica: 'one', clock: systemClock }
await use(new RedisStore(link, options), 'asking', REQUESTS, Number.POSITIVE_INFINITY)
const slices = { schedule, isTogether: true, hears: () => true }
await use(new RedisStore(link, { ...options, slices }), 'sliced', 1e9, SLICED_MS)
for (const [name, all] of times) {
  const sorted = all.slice(Math.min(200, all.length >> 1)).toSorted((one, other) => one - other)
  const at = (part: number) => (sorted[Math.floor(part * (sorted.length - 1))] ?? 0).toFixed(0)
  console.log(`${name.padEnd(12)} ${all.length} calls, median ${at(0.5)} us, p99 ${at(0.99)} us`)
}

const before = vm.bytes
const many = new RedisStore(link, options)
for (let tenant = 0; tenant < 5_000; tenant++)
  await many.admit({ tenant: `t${tenant}`, id: `m${tenant}`, rules: RULES, estimate: tokens(10) })
console.log(`${((vm.bytes - before) / 5_000).toFixed(0)} bytes a tenant with a running request`)
console.log(`RSS grew by ${((process.memoryUsage().rss - rssBefore) / 2 ** 20).toFixed(0)} MiB`)

const server = await startEmbedded()
const client = await openOnSocket(server.socket)
const lua = 'return { 1, 2, 3, 4, 5, 6, 7, 8 }'
await client.runWhole(lua, [], [])
const from = performance.now()
for (let call = 0; call < REQUESTS; call++)
  await client.runCached(hash('sha1', lua), ['k'], [1, 2, 3])
const each = ((performance.now() - from) / REQUESTS) * 1000
console.log(`${each.toFixed(0)} us for an empty script over the socket, both ends in this thread`)
process.exit()

async function use(store: RedisStore, tenant: string, most: number, ms: number): Promise<void> {
  const until = performance.now() + ms
  for (let number = 0; number < most && performance.now() < until; number++) {
    const id = `${tenant} ${number}`
    await store.admit({ tenant, id, rules: RULES, estimate: tokens(100) })
    await store.settle({ tenant, id, used: tokens(90), budget: RULES.budget })
    if (ms === SLICED_MS) await new Promise((resolve) => setTimeout(resolve, 2))
  }
}
