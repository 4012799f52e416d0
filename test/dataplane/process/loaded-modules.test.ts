/** Modules that a start reads use memory in every gateway. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'

const RUN = '../../../dataplane/process/run.ts'

/** The modules that are loaded after `programs` were, of Node, of packages and of the gateway. */
function loadedBy(...programs: readonly string[]): readonly string[] {
  const loads = programs.map((file) => `await import(${JSON.stringify(import.meta.resolve(file))})`)
  const program = `
    import { createRequire, registerHooks } from 'node:module'
    const loaded = []
    registerHooks({
      load(url, context, next) {
        loaded.push(url)
        return next(url, context)
      },
    })
    ${loads.join('\n')}
    const read = Object.keys(createRequire(import.meta.url).cache)
    process.stdout.write(JSON.stringify([...process.moduleLoadList, ...read, ...new Set(loaded)]))
  `
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', program])
  return JSON.parse(output.toString())
}

test('no implementation of fetch is loaded before its use, neither that of Node nor that of undici', () => {
  const read = loadedBy(RUN, '../../../dataplane/pod/run-pod.ts')
  assert.ok(read.some((name) => name.endsWith('undici/lib/dispatcher/pool.js')))
  const fetching = read.filter((name) => /deps\/undici|undici\/lib\/web\/fetch/.test(name))
  assert.deepEqual(fetching, [])
})

test('a gateway of a file does not load what reads configurations, vendors and stores that it does not use', () => {
  const read = loadedBy(RUN)
  const unused =
    /node_modules\/(zod|yaml|ioredis|pg|chromadb|@qdrant|@aws-sdk|@azure|google-auth|jose|gpt-token)/
  assert.ok(read.some((name) => name.endsWith('dataplane/config/snapshot.ts')))
  assert.deepEqual(
    read.filter((name) => unused.test(name)),
    [],
  )
})
