/** Modules that a start reads use memory in every gateway. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'

const PROGRAM = `
  import { createRequire } from 'node:module'
  await import(${JSON.stringify(import.meta.resolve('../../../dataplane/process/run.ts'))})
  await import(${JSON.stringify(import.meta.resolve('../../../dataplane/pod/run-pod.ts'))})
  const read = Object.keys(createRequire(import.meta.url).cache)
  process.stdout.write(JSON.stringify([...process.moduleLoadList, ...read]))
`

test('no implementation of fetch is loaded before its use, neither that of Node nor that of undici', () => {
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', PROGRAM])
  const read: string[] = JSON.parse(output.toString())
  assert.ok(read.some((name) => name.endsWith('undici/lib/dispatcher/pool.js')))
  const fetching = read.filter((name) => /deps\/undici|undici\/lib\/web\/fetch/.test(name))
  assert.deepEqual(fetching, [])
})
