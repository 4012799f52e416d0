/** The program restarts itself once with the flags that keep it small, and with all its arguments. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'

const MODULE = join(import.meta.dirname, '../../dataplane/base/start-anew.ts')

const PROGRAM = `
  import { startAnew } from ${JSON.stringify(MODULE)}
  startAnew({ flags: ['--max-semi-space-size=4', '--optimize-for-size'], variables: { MALLOC_ARENA_MAX: '1' } }, process.env)
  const { pid, execArgv, argv, env } = process
  process.stdout.write(JSON.stringify({
    pid, execArgv, given: argv.slice(2), arenas: env.MALLOC_ARENA_MAX, cache: env.NODE_COMPILE_CACHE,
  }))`

let folder: string

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gw-start-'))
  await writeFile(join(folder, 'program.mjs'), PROGRAM)
})

after(() => rm(folder, { recursive: true }))

async function run(flags: readonly string[], env: NodeJS.ProcessEnv) {
  const args = [...flags, join(folder, 'program.mjs'), '--option', 'value']
  const child = spawn(process.execPath, args, { env: { PATH: process.env.PATH, ...env } })
  const [text] = await Promise.all([
    Array.fromAsync(child.stdout.setEncoding('utf8')),
    once(child, 'close'),
  ])
  return { ...JSON.parse(text.join('')), childPid: child.pid }
}

test('it is the same process with the same arguments, and takes less memory', async () => {
  const { pid, childPid, given, execArgv, arenas, cache } = await run([], { HOME: folder })
  assert.equal(pid, childPid)
  assert.deepEqual(given, ['--option', 'value'])
  assert.deepEqual(execArgv, ['--max-semi-space-size=4', '--optimize-for-size'])
  assert.equal(arenas, '1')
  assert.equal(cache, join(folder, '.cache/gw/compiled'))
})

test('a value that a person sets wins', async () => {
  const flags = ['--max-semi-space-size=16']
  const { execArgv, arenas, cache } = await run(flags, {
    MALLOC_ARENA_MAX: '3',
    NODE_COMPILE_CACHE: join(folder, 'other'),
  })
  assert.deepEqual(execArgv, [...flags, '--optimize-for-size'])
  assert.equal(arenas, '3')
  assert.equal(cache, join(folder, 'other'))
})

test('a flag of the environment counts as one set by a person', async () => {
  const env = { HOME: folder, NODE_OPTIONS: '--max-semi-space-size=16' }
  const { execArgv } = await run([], env)
  assert.deepEqual(execArgv, ['--optimize-for-size'])
})

test('without a cache folder it starts anyway', async () => {
  const { given, cache } = await run([], { HOME: join(folder, 'program.mjs') })
  assert.deepEqual(given, ['--option', 'value'])
  assert.equal(cache, undefined)
})

test('code that is compiled before the restart is kept too, in a folder for its flags', async () => {
  const cache = join(folder, 'kept')
  await run([], { HOME: folder, NODE_COMPILE_CACHE: cache })
  const folders = await readdir(cache)
  const kept = await Promise.all(folders.map((name) => readdir(join(cache, name))))
  assert.deepEqual(
    kept.map((files) => files.length > 0),
    [true, true],
  )
})
