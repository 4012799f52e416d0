/** The processes of a gateway: where they meet, and which settings a worker must share with the others. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { portIn } from '../../../dataplane/process/addresses.ts'
import { TeamError, teamOf } from '../../../dataplane/process/team.ts'

function aSection(url: string, more: object = {}) {
  const gateway = { workers: 2, listen_address: '127.0.0.1', listen_port: 8080, ...more }
  const rate_limits = { backend: 'redis', redis: { url, key_prefix: 'gw' } }
  return { gateway, rate_limits } as unknown as Parameters<typeof teamOf>[0]
}

async function inFolder(folder: string) {
  const before = process.env.TMPDIR
  process.env.TMPDIR = folder
  try {
    return await teamOf({ gateway: { workers: 2 } } as Parameters<typeof teamOf>[0], undefined)
  } finally {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
  }
}

test('workers get the port of the first process, also the default one of its scheme', () => {
  const urls = ['http://127.0.0.1:80', 'https://[::1]:443', 'http://0.0.0.0:8080']
  assert.deepEqual(urls.map(portIn), [80, 443, 8080])
})

test('a folder that cannot hold the socket of the store is named, with what to do', async () => {
  const parent = await mkdtemp(join(tmpdir(), 'gw-team-'))
  for (const folder of [join(parent, 'long'.repeat(25)), join(parent, 'none')])
    await assert.rejects(inFolder(folder), (error: Error) => {
      assert.ok(error instanceof TeamError)
      assert.ok(error.message.includes(folder), error.message)
      assert.match(error.message, /set TMPDIR to a folder/)
      return true
    })
  await rm(parent, { recursive: true })
})

test('a worker needs the store and the address of the first process, not its password or metrics port', async () => {
  const { shared } = await teamOf(aSection('redis://:old@store:6379'), undefined)
  const desk = { seat: { number: 2, of: 2, port: 8080, ...shared } } as Parameters<typeof teamOf>[1]
  const changes = { workers: 3, metrics_port: 1 }
  assert.equal((await teamOf(aSection('redis://:new@store:6379', changes), desk)).of, 2)
  await assert.rejects(teamOf(aSection('redis://:old@other:6379'), desk), {
    message: /^gw\.rate_limits\.backend, \.redis or state_dir changed since the gateway started/,
  })
  const address = { listen_address: '0.0.0.0' }
  await assert.rejects(teamOf(aSection('redis://:old@store:6379', address), desk), TeamError)
})
